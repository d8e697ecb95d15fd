"""ListTransactions and DescribeTransactions."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene
from tests.conformance.differential.transaction_requests import end, produce
from tests.conformance.differential.transactions import (
    NEW_END,
    NEW_PRODUCE,
    at_rest,
    began,
)

pytestmark = pytest.mark.usefixtures("coordinators")


def test_list_transactions_filters_and_describe_transactions_answers_one_by_one(pair: Pair) -> None:
    topic = pair.create("tx-listed")
    with Scene(pair) as scene:
        for name in ("listed-a", "listed-b", "listed-c"):
            began(scene, name, name)
        scene.same(lambda the: produce("listed-b", the["listed-b"], 0, topic), NEW_PRODUCE)
        scene.same(lambda the: produce("listed-c", the["listed-c"], 0, topic), NEW_PRODUCE)
        scene.same(lambda the: end("listed-c", the["listed-c"], 0, commit=True), NEW_END)
        at_rest(scene, "listed-c")

        def ours(answer: Any) -> Any:
            answer.transaction_states = [each for each in answer.transaction_states if each.transactional_id.startswith("listed-")]
            return answer

        def listed(version: int | None = None, **options: Any) -> None:
            ids = options.pop("ids", [])

            def made(the: Known) -> ListTransactionsRequest:
                wanted = [the[each] if isinstance(each, str) else each for each in ids]
                return ListTransactionsRequest(**{"state_filters": [], "producer_id_filters": wanted, **options})

            scene.same(made, version, through=ours)

        for version in range(3):
            listed(version)
            for filters in (["Ongoing"], ["ongoing"], ["Empty", "CompleteCommit"], ["nonsense", "Ongoing"], ["nonsense"], [""], ["Dead"]):
                listed(version, state_filters=filters)
            listed(version, ids=["listed-a", "listed-c"])
            listed(version, ids=[10**12])
            listed(version, ids=["listed-a"], state_filters=["Ongoing"])
        for duration in (-2, -1, 0, 1, 10**9):
            listed(1, duration_filter=duration)
        for pattern in ("listed-[ab]", "listed", ".*-a", "", "(", "LISTED.*", None):
            listed(2, transactional_id_pattern=pattern)
        scene.same(DescribeTransactionsRequest(transactional_ids=["listed-a", "listed-b", "listed-c", "never", "", "listed-a"]))
        scene.same(DescribeTransactionsRequest(transactional_ids=[]))
