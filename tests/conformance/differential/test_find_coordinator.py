"""FindCoordinator."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.conformance.differential.offset_requests import (
    GROUPS,
    SHARE_STATE,
    TRANSACTIONS,
)
from tests.conformance.differential.pair import Pair


@pytest.mark.parametrize("kind", [GROUPS, TRANSACTIONS, SHARE_STATE, 9, -1])
def test_find_coordinator_answers_any_id_of_the_known_kinds(pair: Pair, read: str, kind: int) -> None:
    for key in ("g", "", "a group of its own", "\u00e9\U0001f600"):
        if kind != SHARE_STATE:
            pair.same(FindCoordinatorRequest(key_type=kind, key=key), range(1, 4))
            pair.same(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key, "g"]), range(4, 7))
    if kind == SHARE_STATE:
        pair.same(FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"]), range(4, 6))


def test_find_coordinator_takes_no_key_and_repeated_keys(pair: Pair, read: str) -> None:
    pair.same(FindCoordinatorRequest(key="g"), [0])
    pair.same(FindCoordinatorRequest(coordinator_keys=[]), range(4, 7))
    pair.same(FindCoordinatorRequest(coordinator_keys=["g", "g", "h"]), range(4, 7))


TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
SHARE_KEYS = (
    *(f"g:{TOPIC_ID}:0", f"a:b:{TOPIC_ID}:7", f"g:{TOPIC_ID}==:0", f"g:{TOPIC_ID}:-1", f"g:{TOPIC_ID}:+1:::"),
    *("g", "", ":", "g:topic:0", f"g:{TOPIC_ID}:x", f":{TOPIC_ID}:0", f" :{TOPIC_ID}:0"),
)


@pytest.mark.usefixtures("share_coordinator")
def test_find_coordinator_of_a_share_partition_needs_a_whole_key(pair: Pair) -> None:
    pair.same(FindCoordinatorRequest(key_type=SHARE_STATE, coordinator_keys=list(SHARE_KEYS)), range(4, 7))
    for key in SHARE_KEYS:
        pair.same(FindCoordinatorRequest(key_type=SHARE_STATE, key=key), range(1, 4))
