"""Committed batches reach publishers in order; history reaches them once, as one delta from an
empty image.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from barnabas.config.parse import parse_broker_config
from barnabas.devcluster.development import development_properties
from barnabas.env.slices import ITEMS_PER_SLICE
from barnabas.metadata.applier import MetadataApplier, MetadataBatch, Snapshot
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.wire.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    MetadataRecord,
    RemoveTopicRecord,
)
from tests.unit import simulated
from tests.unit.metadata.made import topic, uuid


class Scribe:
    """A publisher that records its calls, as slowly as a test likes."""

    def __init__(self, wait: Callable[[], Awaitable[None]] | None = None) -> None:
        self.told: list[tuple[int, set[str], set[str]]] = []
        self.handlers_saw: list[set[str]] = []
        self.newest: list[set[str]] = []
        self.applier: MetadataApplier | None = None
        self._wait = wait
        self.segment_bytes: list[object] = []

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if self._wait is not None:
            await self._wait()
        changed = {each.name for each, _ in delta.topics.changed_partitions()}
        self.told.append((image.provenance.offset, changed, {each.name for each in delta.topics.deleted.values()}))
        self.segment_bytes.append(effective.topic("t")["segment.bytes"])
        if self.applier is not None:
            self.handlers_saw.append(set(self.applier.image.topics.by_name))
            self.newest.append(set(self.applier.newest.image.topics.by_name))


class World:
    def __init__(self, *publishers: Scribe, first_offset: int = 0) -> None:
        self.failures: list[BaseException] = []
        settings = parse_broker_config(development_properties(data_dir="/d"))
        self.applier = MetadataApplier(settings, 1, self.failures.append)
        self.applier.publishers = list(publishers)
        self.applier.publish_from(first_offset)
        for each in publishers:
            each.applier = self.applier
        self._offset = -1

    def batch(self, *records: MetadataRecord) -> MetadataBatch:
        self._offset += max(1, len(records))
        return MetadataBatch(records, Provenance(self._offset, 1, 0), 10)

    def apply(self, *batches: Sequence[MetadataRecord]) -> None:
        self.applier.apply([self.batch(*records) for records in batches])


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def wrapped() -> None:
        await main()
        await settled()

    simulated.run(wrapped())


def test_each_batch_is_published_by_itself_and_in_order() -> None:
    scribe = Scribe()

    async def main() -> None:
        world = World(scribe)
        world.apply(topic(1, "a", [1]), topic(2, "b", [1]))
        world.apply([RemoveTopicRecord(topic_id=uuid(1))])

    run(main)
    assert scribe.told == [(1, {"a"}, set()), (3, {"b"}, set()), (4, set(), {"a"})]


def test_history_is_published_once_as_if_it_had_always_been_so() -> None:
    """A topic is created, deleted and created again: publishers see the last one only, and no
    deletion.
    """
    scribe = Scribe()

    async def main() -> None:
        world = World(scribe, first_offset=5)
        world.apply(topic(1, "t", [1]), [RemoveTopicRecord(topic_id=uuid(1))], topic(2, "t", [1]), [])
        await settled()
        assert world.applier.caught_up.done
        world.apply(topic(3, "later", [1]))

    run(main)
    assert scribe.told == [(5, {"t"}, set()), (7, {"later"}, set())]


def test_a_snapshot_and_the_log_behind_it_are_one_history() -> None:
    scribe = Scribe()

    async def main() -> None:
        world = World(scribe, first_offset=12)
        world.applier.apply([Snapshot(topic(1, "old", [1]), Provenance(9, 1, 0))])
        world._offset = 9
        world.apply(topic(2, "new", [1]), [])
        await settled()
        assert set(world.applier.image.topics.by_name) == {"old", "new"}

    run(main)
    assert scribe.told == [(12, {"old", "new"}, set())]


def test_handlers_see_an_image_only_after_all_publishers_have_acted_on_it() -> None:
    first, second = Scribe(), Scribe()

    async def main() -> None:
        world = World(first, second)
        world.apply(topic(1, "a", [1]))
        await settled()
        assert set(world.applier.image.topics.by_name) == {"a"}

    run(main)
    assert first.handlers_saw == second.handlers_saw == [set()]


def test_a_wait_for_an_offset_ends_when_it_is_published_and_not_before() -> None:
    gate = asyncio.Event()
    scribe = Scribe(gate.wait)  # type: ignore[arg-type]
    heard: list[int] = []

    async def main() -> None:
        world = World(scribe)
        for offset in (3, 0, 1):
            world.applier.applied(offset).then(lambda _, offset=offset: heard.append(offset))  # type: ignore[misc]
        world.apply(topic(1, "a", [1]), topic(2, "b", [1]))
        await settled()
        assert heard == []
        gate.set()
        await settled()
        assert heard == [0, 1, 3]
        assert world.applier.applied(2).done

    run(main)


def test_settings_are_computed_again_when_one_changes() -> None:
    scribe = Scribe()

    async def main() -> None:
        world = World(scribe)
        world.apply([ConfigRecord(resource_type=2, resource_name="t", name="segment.bytes", value="2000000")])
        world.apply(topic(1, "a", [1]))

    run(main)
    assert scribe.segment_bytes == [2_000_000, 2_000_000]


def test_an_open_transaction_is_read_but_not_published_before_it_ends() -> None:
    scribe = Scribe()

    async def main() -> None:
        world = World(scribe, first_offset=4)
        world.apply(topic(1, "a", [1]), [BeginTransactionRecord(), *topic(2, "b", [1])])
        await settled()
        # A new controller reads up to here, and ends the transaction.
        assert world.applier.read(4).done
        assert not world.applier.caught_up.done
        assert world.applier.in_transaction
        assert scribe.told == []
        world.apply([AbortTransactionRecord()])
        await settled()
        assert not world.applier.in_transaction

    run(main)
    assert scribe.told == [(5, {"a"}, set())]


def test_a_publisher_that_fails_ends_the_node_and_nothing_more_is_published() -> None:
    class Clumsy(Scribe):
        async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
            raise ValueError("dropped it")

    after = Scribe()
    failures: list[BaseException] = []

    async def main() -> None:
        world = World(Clumsy(), after)
        world.apply(topic(1, "a", [1]), topic(2, "b", [1]))
        await settled()
        failures.extend(world.failures)

    run(main)
    assert [str(failure) for failure in failures] == ["dropped it"]
    assert after.told == []


def test_publishers_find_the_image_they_publish_as_the_newest_while_handlers_see_the_one_before() -> None:
    first, slow = Scribe(), Scribe(lambda: asyncio.sleep(0))

    async def main() -> None:
        world = World(first, slow)
        world.apply(topic(1, "a", [1]), topic(2, "b", [1]))

    run(main)
    for each in (first, slow):
        assert each.handlers_saw == [set(), {"a"}]
        assert each.newest == [{"a"}, {"a", "b"}]


def test_a_big_batch_is_loaded_in_slices_and_seen_only_as_a_whole() -> None:
    partitions = 10 * ITEMS_PER_SLICE
    seen: list[int] = []

    async def main() -> None:
        world = World(Scribe())
        world.apply(topic(1, "big", *([[1]] * partitions)))
        while not world.applier.image.topics.by_name:
            assert not world.applier.loaded.topics.by_name or len(world.applier.loaded.topics.by_name["big"].partitions) == partitions
            seen.append(len(world.applier.loaded.topics.by_name))
            await asyncio.sleep(0)
        assert len(world.applier.image.topics.by_name["big"].partitions) == partitions

    run(main)
    assert len(seen) >= partitions / ITEMS_PER_SLICE, "the loop turned while the batch was loaded"
