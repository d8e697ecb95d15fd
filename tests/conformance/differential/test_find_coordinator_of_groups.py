"""FindCoordinator, when all internal topics of coordinators exist."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.conformance.differential.pair import Pair

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("key_type", [0, 1, 2, 3, -1])
def test_find_coordinator_answers_every_kind_and_any_key(pair: Pair, key_type: int) -> None:
    for key in ("g", "", "with spaces and / signs", "x" * 300):
        if key_type == 0:
            pair.same(FindCoordinatorRequest(key=key))
        pair.same(FindCoordinatorRequest(key=key, key_type=key_type))
        pair.same(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]))
    pair.same(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a", "b", "a", ""]))
    pair.same(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[]), range(4, 7))
