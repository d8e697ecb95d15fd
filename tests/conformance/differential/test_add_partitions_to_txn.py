"""AddPartitionsToTxn."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene
from tests.conformance.differential.transaction_requests import add
from tests.conformance.differential.transactions import (
    began,
    shown,
)

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("version", range(6))
def test_add_partitions_to_txn_judges_partitions(pair: Pair, version: int) -> None:
    name = f"adding-{version}"
    topic = pair.create(f"tx-{name}", 2)
    with Scene(pair) as scene:
        began(scene, name)
        wrong: list[Any] = [[(topic, [0, 7])], [("no-such-topic", [0]), (topic, [0, 1])], [(topic, [-1])], [("", [0])], [], [(topic, [])]]
        for topics in wrong:
            scene.same(lambda the, topics=topics: add(version, name, the["p"], 0, topics), version)
            shown(scene, name)
        why = "Kafka answers a partition as often as it was named"
        once = {"results_by_topic_v3_and_below": why, "results_by_transaction": why}
        scene.same(lambda the: add(version, name, the["p"], 0, [(topic, [0, 0]), (topic, [0])]), version, differ=once)
        shown(scene, name)
        scene.same(lambda the: add(version, name, the["p"], 0, [("__consumer_offsets", [0])]), version)
        shown(scene, name)
        if version >= 4:
            verified: list[Any] = [[(topic, [0, 1])], [(topic, [0])], [("no-such-topic", [0]), (topic, [0])], []]
            for topics in verified:
                for who in ((0, 0), (0, 1), (10**6, 0)):
                    scene.same(
                        lambda the, topics=topics, who=who: add(version, name, the["p"] + who[0], who[1], topics, verify=True), version
                    )
            scene.same(add(version, "never", 5, 0, [(topic, [0])], verify=True), version)
            scene.same(add(version, "", 5, 0, [(topic, [0])], verify=True), version)


@pytest.mark.parametrize("version", [4, 5])
def test_add_partitions_to_txn_takes_several_transactions(pair: Pair, version: int) -> None:
    topic = pair.create(f"tx-several-{version}", 2)
    with Scene(pair) as scene:
        for name in ("x", "y"):
            began(scene, f"several-{version}-{name}", name)

        def several(the: Known) -> AddPartitionsToTxnRequest:
            asked = [
                add(version, f"several-{version}-x", the["x"], 0, [(topic, [0, 1])]),
                add(version, f"several-{version}-y", the["y"], 0, [(topic, [1])], verify=True),
                add(version, "never", 5, 0, [(topic, [1])]),
            ]
            return AddPartitionsToTxnRequest(transactions=[each for request in asked for each in request.transactions])

        scene.same(several, version)
        scene.same(several, version)
        # Kafka never answers a request for no transactions.
        assert pair.barnabas.broker.ask(AddPartitionsToTxnRequest(transactions=[]), version).error_code == ErrorCode.NONE
