from __future__ import annotations

import asyncio

from barnabas.model.errors import ErrorCode
from barnabas.records.batches import walk
from barnabas.sharing.core.acknowledging import AcknowledgedRange
from barnabas.sharing.core.acquiring import RECORD_LIMIT
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.local_share_partition import LocalSharePartition
from barnabas.sharing.share_fetch import CONFIRMATION_WAIT_MS
from barnabas.storage.regions import FileRegion
from tests.unit import simulated
from tests.unit.replication.made import TOPIC_ID, led_by
from tests.unit.sharing.shared_world import GROUP, SharedWorld, offsets

ACCEPT, RELEASE = 1, 2


def share_of(world: SharedWorld, index: int = 0) -> LocalSharePartition:
    share = world.shares.get(GROUP, (TOPIC_ID, index))  # type: ignore[arg-type]
    assert share is not None
    return share


def test_a_fetch_carries_only_the_batches_of_the_acquired_records() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5, 5, 5, 5])
        world.fetch(records=5)
        (share,) = world.fetch(records=7).value
        assert [tuple(each) for each in share.acquired] == [(5, 14, 1)]
        assert isinstance(share.records, FileRegion)
        assert [header.base_offset for _, header in walk(share.records.read())] == [5, 10]

    simulated.run(scenario())


def test_a_fetch_waits_for_new_records() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition()
        waiting = world.fetch(wait_ms=1000)
        assert not waiting.done
        world.produce(partition, 3)
        assert offsets(waiting) == [[(0, 2, 1)]]

    simulated.run(scenario())


def test_a_fetch_that_finds_nothing_ends_with_its_wait() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition()
        waiting = world.fetch(wait_ms=1000)
        await asyncio.sleep(1.001)
        assert offsets(waiting) == [[]]

    simulated.run(scenario())


def test_a_fetch_whose_wait_is_shortened_ends_soon() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition()
        waiting = world.fetch(wait_ms=60_000)
        world.last_fetch.shorten_wait()
        assert not waiting.done
        await asyncio.sleep(CONFIRMATION_WAIT_MS / 1000 + 0.001)
        assert offsets(waiting) == [[]]

    simulated.run(scenario())


def test_records_that_come_in_a_shortened_wait_are_delivered() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition()
        waiting = world.fetch(wait_ms=60_000)
        world.last_fetch.shorten_wait()
        world.produce(partition, 3)
        assert offsets(waiting) == [[(0, 2, 1)]]

    simulated.run(scenario())


def test_a_shortened_wait_is_never_longer_than_the_request_allows() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition()
        waiting = world.fetch(wait_ms=2)
        world.last_fetch.shorten_wait()
        await asyncio.sleep(0.003)
        assert offsets(waiting) == [[]]

    simulated.run(scenario())


def test_a_fetch_locks_nothing_while_it_waits_for_more_bytes() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition(records=[1])
        patient = world.fetch("a", wait_ms=1000, min_bytes=200)
        assert not patient.done
        assert offsets(world.fetch("b")) == [[(0, 0, 1)]]
        world.produce(partition, 40)
        assert offsets(patient) == [[(1, 40, 1)]]

    simulated.run(scenario())


def test_waiting_fetches_are_served_in_their_order() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition()
        first, second = world.fetch("a", wait_ms=1000), world.fetch("b", wait_ms=1000)
        world.produce(partition, 3)
        assert first.done
        assert not second.done
        world.produce(partition, 3)
        assert offsets(second) == [[(3, 5, 1)]]

    simulated.run(scenario())


def test_a_release_wakes_a_waiting_fetch() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[3])
        world.fetch("a")
        waiting = world.fetch("b", wait_ms=60_000)
        share_of(world).acknowledge("a", [AcknowledgedRange(0, 2, [RELEASE])])
        assert offsets(waiting) == [[(0, 2, 2)]]

    simulated.run(scenario())


def test_the_end_of_a_lock_wakes_a_waiting_fetch() -> None:
    async def scenario() -> None:
        world = SharedWorld(ShareGroupSettings(auto_offset_reset="earliest", lock_duration_ms=1000))
        world.partition(records=[3])
        world.fetch("a")
        waiting = world.fetch("b", wait_ms=60_000)
        await asyncio.sleep(1.1)
        assert offsets(waiting) == [[(0, 2, 2)]]
        assert world.persister.kept[world.key()].offsets == {0: (0, 1), 1: (0, 1), 2: (0, 1)}

    simulated.run(scenario())


def test_a_hidden_record_wakes_a_waiting_fetch_when_its_backoff_ends() -> None:
    async def scenario() -> None:
        world = SharedWorld(ShareGroupSettings(auto_offset_reset="earliest", retry_backoff_ms=500))
        world.partition(records=[3])
        world.fetch("a")
        share_of(world).acknowledge("a", [AcknowledgedRange(0, 2, [RELEASE])])
        waiting = world.fetch("b", wait_ms=60_000)
        await asyncio.sleep(0.4)
        assert not waiting.done
        await asyncio.sleep(0.2)
        assert offsets(waiting) == [[(0, 2, 2)]]

    simulated.run(scenario())


def test_partitions_share_the_number_of_records_in_their_order() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(0, records=[5])
        world.partition(1, records=[5])
        assert offsets(world.fetch("a", 1, 0, records=8, mode=RECORD_LIMIT)) == [[(0, 4, 1)], [(0, 2, 1)]]

    simulated.run(scenario())


def test_a_partition_that_another_broker_leads_is_refused() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition(records=[5])
        partition.follow_metadata(led_by(2, epoch=1, replicas=(1, 2)))
        (share,) = world.fetch(wait_ms=1000).value
        assert share.error is ErrorCode.NOT_LEADER_OR_FOLLOWER

    simulated.run(scenario())


def test_a_leader_that_comes_back_reads_the_state_again() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition(records=[5, 5])
        world.fetch("a", records=5)
        before = share_of(world)
        share_of(world).acknowledge("a", [AcknowledgedRange(0, 2, [ACCEPT])])
        partition.follow_metadata(led_by(2, epoch=1, replicas=(1, 2)))
        partition.follow_metadata(led_by(1, epoch=2))
        assert offsets(world.fetch("b")) == [[(3, 9, 1)]]
        assert share_of(world) is not before

    simulated.run(scenario())


def test_a_waiting_fetch_ends_when_its_only_partition_is_fenced() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition()
        waiting = world.fetch(wait_ms=60_000)
        share_of(world).fence()
        assert waiting.value[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER

    simulated.run(scenario())


def test_records_below_the_start_of_the_log_are_skipped() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition(records=[5, 5, 5])
        world.fetch("a", records=5)
        share_of(world).acknowledge("a", [AcknowledgedRange(0, 4, [RELEASE])])
        partition.log.advance_start(7)
        assert offsets(world.fetch("b")) == [[(7, 14, 1)]]

    simulated.run(scenario())


def test_a_fetch_that_is_abandoned_waits_no_more() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition()
        world.fetch("a", wait_ms=1000).abandon()
        world.produce(partition, 3)
        assert offsets(world.fetch("b")) == [[(0, 2, 1)]]

    simulated.run(scenario())


def test_a_partition_whose_disk_failed_is_refused() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        partition = world.partition(records=[5])
        world.fetch("a", records=1)
        world.disk.replicas.disk_failed(partition.directory, OSError(5, "broken"))
        assert world.fetch("b", wait_ms=1000).value[0].error is ErrorCode.KAFKA_STORAGE_ERROR

    simulated.run(scenario())


def test_a_fetch_reads_no_more_headers_than_the_window_can_take() -> None:
    async def scenario() -> None:
        world = SharedWorld(ShareGroupSettings(auto_offset_reset="earliest", record_locks_max=100))
        world.partition(records=[50] * 5)
        assert offsets(world.fetch(records=2**31 - 1)) == [[(0, 99, 1)]]

    simulated.run(scenario())
