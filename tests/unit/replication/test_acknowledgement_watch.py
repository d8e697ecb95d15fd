"""The broker reports which partition's acknowledgements wait, how long, and for which replica."""

from __future__ import annotations

from typing import Any

from barnabas.env.clock import SystemClock
from barnabas.model.errors import ErrorCode
from barnabas.replication.acknowledgement_watch import STALL_MS, AcknowledgementWatch
from barnabas.replication.cluster_view import ClusterView
from barnabas.telemetry.logs import EventLog
from tests.unit.replication.made import ME, NOW_MS, World, led_by
from tests.unit.storage.logs import data


class Events(EventLog):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[tuple[str, dict[str, Any]]] = []

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        self.written.append((event, values))

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        taken, self.written = self.written, []
        return taken


def test_a_stall_is_reported_with_the_replica_that_causes_it_and_again_when_it_has_doubled_and_ended() -> None:
    world, events = World(), Events()
    partition = world.partition(image=led_by(ME, replicas=(ME, 2, 3)), cluster_view=ClusterView(own_epoch=lambda: 1))
    quiet = world.partition("quiet", image=led_by(ME, replicas=(ME, 2, 3)))
    watch = AcknowledgementWatch(world.replicas, SystemClock(), events)
    partition.append(memoryview(data()), -1, NOW_MS)
    promise = partition.replicated(partition.log.log_end_offset)
    partition.follower_fetched(2, offset=1, log_start_offset=0, replica_epoch=-1, now_ms=0)
    for now_ms in (0, STALL_MS - 1):
        watch.check(now_ms)
        assert events.take() == []
    watch.check(STALL_MS)
    [(event, values)] = events.take()
    assert event == "acknowledgements wait"
    assert values["partition"] == str(partition.partition)
    assert values["held_up_by"] == [3]
    assert values["waited_ms"] == STALL_MS
    watch.check(2 * STALL_MS - 1)
    assert events.take() == []
    watch.check(2 * STALL_MS)
    assert [values["waited_ms"] for _, values in events.take()] == [2 * STALL_MS]
    partition.follower_fetched(3, offset=1, log_start_offset=0, replica_epoch=-1, now_ms=0)
    assert promise.value == ErrorCode.NONE
    watch.check(2 * STALL_MS + 1)
    assert [event for event, _ in events.take()] == ["acknowledgements resumed"]
    assert not quiet.progress.acknowledgements_wait


def test_a_partition_that_moves_on_is_not_reported_however_busy_it_is() -> None:
    world, events = World(), Events()
    partition = world.partition(image=led_by(ME, replicas=(ME, 2)), cluster_view=ClusterView(own_epoch=lambda: 1))
    watch = AcknowledgementWatch(world.replicas, SystemClock(), events)
    for number in range(1, 10):
        partition.append(memoryview(data()), -1, NOW_MS)
        partition.replicated(partition.log.log_end_offset)
        watch.check(number * STALL_MS)
        partition.follower_fetched(2, offset=number, log_start_offset=0, replica_epoch=-1, now_ms=0)
    assert events.take() == []
