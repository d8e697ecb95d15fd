"""``__remote_log_metadata`` as a broker writes it and reads it back, where the broker itself leads
the only partition.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from barnabas.config.remote_metadata_topic import MetadataTopicSettings
from barnabas.controller.internal_topics import InternalTopics
from barnabas.devcluster.development import development_properties
from barnabas.env.awaiting import awaited
from barnabas.env.clock import SystemClock
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.topic_names import REMOTE_LOG_METADATA
from barnabas.node.process import parse_settings
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.telemetry.logs import EventLog
from barnabas.tiered.leftovers import leftovers_of
from barnabas.tiered.metadata.events import RemoteLogEvent
from barnabas.tiered.metadata.metadata_topic import MetadataTopic
from barnabas.tiered.metadata.segment_metadata import RemotePartition, RemotePartitionDelete
from barnabas.tiered.metadata.segment_state import PartitionDeleteState
from tests.unit import simulated
from tests.unit.api.neighbours import HERE, Neighbours
from tests.unit.replication.made import ME, World, led_by
from tests.unit.tiered.made import PARTITION, segment

OTHER = RemotePartition(Uuid(b"other-topic-id16"), "other", 3)


class Scene:
    def __init__(self, *replicas: int) -> None:
        self.world = World()
        self.partition = self.world.partition(REMOTE_LOG_METADATA, image=led_by(ME, replicas=replicas or (ME,)))
        neighbours = Neighbours(1, led_by={REMOTE_LOG_METADATA: HERE})
        settings = parse_settings(development_properties(data_dir="nowhere"))
        context: Any = SimpleNamespace(node_id=HERE, settings=settings, clock=SystemClock(), log=EventLog("ERROR"))
        self.image = neighbours.image
        self.topic = MetadataTopic(
            context,
            MetadataTopicSettings(partitions=1, replicas=1),
            self.world.replicas,
            neighbours.metadata,
            neighbours.others,
            InternalTopics(cast(Any, None), settings, context.log),
        )

    def subscribe(self, partition: RemotePartition = PARTITION) -> tuple[Any, list[RemoteLogEvent]]:
        seen: list[RemoteLogEvent] = []
        return self.topic.subscribe(partition, seen.append), seen

    def put(self, value: bytes) -> None:
        self.partition.append_own(build_batch([Record(0, 0, None, value)]), 0)


def test_an_event_is_read_back_before_it_counts() -> None:
    async def claim() -> None:
        scene = Scene()
        subscription, seen = scene.subscribe()
        await awaited(subscription.ready)
        event = segment(1, 0, 99)
        assert await awaited(scene.topic.write(event)) == ErrorCode.NONE
        assert seen == [event]
        scene.topic.stop()

    simulated.run(claim())


def test_an_event_counts_after_it_is_committed() -> None:
    async def claim() -> None:
        scene = Scene(ME, 2)
        _, seen = scene.subscribe()
        written = scene.topic.write(segment(1, 0, 99))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not written.done
        assert not seen
        scene.partition.follower_fetched(2, offset=1, log_start_offset=0, replica_epoch=-1, now_ms=0)
        assert await awaited(written) == ErrorCode.NONE
        assert len(seen) == 1
        scene.topic.stop()

    simulated.run(claim())


def test_a_late_subscriber_receives_all_events_and_earlier_ones_receive_none_twice() -> None:
    async def claim() -> None:
        scene = Scene()
        _, first = scene.subscribe()
        mine, others = segment(1, 0, 99), replace(segment(2, 0, 9), id=segment(2, 0, 9).id._replace(partition=OTHER))
        for event in (mine, others):
            await awaited(scene.topic.write(event))
        subscription, second = scene.subscribe(OTHER)
        await awaited(subscription.ready)
        assert (first, second) == ([mine], [others])
        scene.topic.unsubscribe(OTHER)
        await awaited(scene.topic.write(mine))
        assert (first, second) == ([mine, mine], [others])
        scene.topic.stop()

    simulated.run(claim())


def test_unreadable_records_are_ignored() -> None:
    async def claim() -> None:
        scene = Scene()
        scene.put(b"\xff garbage")
        scene.put(b"")
        subscription, seen = scene.subscribe()
        await awaited(subscription.ready)
        assert await awaited(scene.topic.write(segment(1, 0, 99))) == ErrorCode.NONE
        assert len(seen) == 1
        scene.topic.stop()

    simulated.run(claim())


def test_a_deletion_is_pending_from_its_mark_to_its_end() -> None:
    async def claim() -> None:
        scene = Scene()
        event = segment(1, 0, 99)

        async def left() -> dict[RemotePartition, list[Any]]:
            return await leftovers_of(scene.partition, lambda: scene.image)

        async def say(state: PartitionDeleteState) -> None:
            await awaited(scene.topic.write(RemotePartitionDelete(PARTITION, state, broker_id=1, event_timestamp=0)))

        await awaited(scene.topic.write(event))
        assert await left() == {}
        await say(PartitionDeleteState.DELETE_PARTITION_MARKED)
        assert await left() == {PARTITION: [event]}
        await say(PartitionDeleteState.DELETE_PARTITION_FINISHED)
        assert await left() == {}

    simulated.run(claim())
