"""A mirror closes its clients when it ends, and does not open more with every round."""

from __future__ import annotations

import gc

from tests.pipelines.mirror.conftest import RunMirror
from tests.pipelines.mirror.test_groups import read_as_a_group
from tests.pipelines.open_clients import no_client_stays_open
from tests.pipelines.topics import Topics

ROUNDS = 2


def test_mirrors_leave_no_client_open(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    orders = topics.create("orders")
    gc.collect()
    gc.disable()
    try:
        with no_client_stays_open():
            for number in range(ROUNDS):
                topics.send(orders, [{"n": number}])
                read_as_a_group(topics.bootstrap, f"group.{orders}", orders, 1)
                run_mirror(groups=[f"group.{orders}"])
    finally:
        gc.enable()
    assert [row["n"] for row in there.values(f"A.{orders}")] == list(range(ROUNDS))
