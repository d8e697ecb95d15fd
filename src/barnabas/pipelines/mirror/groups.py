"""Offsets of consumer groups, translated so that a group can stop on the source and continue on the
target.

Each offset becomes a checkpoint record on the target. It is also committed there for the group of
the same name, as long as the group has no members there, and never backwards: a group that moved
over, worked and stopped for a moment must not be moved back.

Plain consumers that join no group fetch and commit the offsets: librdkafka's admin client aborts
the process when a group's coordinator goes away at the wrong moment, and a mirror runs for months.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.mirror.checkpoint_record import GroupCheckpoint, checkpoints_topic
from barnabas.pipelines.mirror.cluster import ANSWER_SECONDS_MAX, MirrorCluster
from barnabas.pipelines.mirror.offset_syncs import OffsetSyncs
from barnabas.pipelines.mirror.selection import TopicSelection
from barnabas.pipelines.transactional_producer import closing_producer

# Groups of tools: their offsets are not needed on the target.
_INTERNAL = re.compile(r"(?:barnabas\.|barnabas-cli$|spark-kafka-|console-consumer-|__).*")
# Errors of a commit from outside while the group has members.
_GROUP_LIVES_THERE = frozenset(
    {
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.FENCED_MEMBER_EPOCH,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError.GROUP_ID_NOT_FOUND,
    }
)


class MirroredGroups:
    def __init__(self, source: MirrorCluster, target: MirrorCluster, selection: TopicSelection, patterns: Iterable[str]) -> None:
        self._source, self._target = source, target
        self._selection = selection
        try:
            self._wanted = [re.compile(each) for each in patterns]
        except re.error as error:
            raise CannotRun(f"--groups takes regular expressions: {error}.") from error
        self._admin = source.admin()
        self._producer = Producer(target.client_config())
        self._known: dict[bytes, bytes] = {}  # checkpoint records written by this process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._admin, closing_producer(self._producer):
            pass

    def keep_in_step(self, syncs: OffsetSyncs, partitions: Mapping[str, int]) -> int:
        """Returns the number of groups with offsets in the mirrored topics."""
        if not self._wanted:
            return 0
        syncs.refresh()
        mirrored = [TopicPartition(topic, each) for topic, count in partitions.items() for each in range(count)]
        moved = 0
        for group in self._groups():
            checkpoints = self._translate(group, mirrored, syncs)
            if checkpoints:
                moved += 1
                self._note(checkpoints)
                self._commit(group, checkpoints)
        self._producer.flush(ANSWER_SECONDS_MAX)
        return moved

    def _groups(self) -> list[str]:
        found: Any = self._admin.list_consumer_groups(request_timeout=ANSWER_SECONDS_MAX).result()
        names = sorted(each.group_id for each in found.valid)
        return [name for name in names if not _INTERNAL.fullmatch(name) and any(each.fullmatch(name) for each in self._wanted)]

    def _translate(self, group: str, mirrored: list[TopicPartition], syncs: OffsetSyncs) -> list[GroupCheckpoint]:
        checkpoints = []
        for each in _committed(self._source, group, mirrored):
            target_offset = syncs.translate(each.topic, each.partition, each.offset)
            if target_offset is not None:
                target_topic = self._selection.target_name(each.topic)
                checkpoints.append(GroupCheckpoint(group, target_topic, each.partition, each.offset, target_offset))
        return checkpoints

    def _note(self, checkpoints: list[GroupCheckpoint]) -> None:
        topic = checkpoints_topic(self._source.alias)
        for each in checkpoints:
            if self._known.get(each.key) != each.value:
                self._known[each.key] = each.value
                self._producer.produce(topic, each.value, each.key)

    def _commit(self, group: str, checkpoints: list[GroupCheckpoint]) -> None:
        wanted = {(each.topic, each.partition): each.target_offset for each in checkpoints}
        consumer = _consumer(self._target, group)
        try:
            there = consumer.committed([TopicPartition(*where) for where in wanted], timeout=ANSWER_SECONDS_MAX)
            ahead = [
                TopicPartition(each.topic, each.partition, wanted[each.topic, each.partition])
                for each in there
                if each.error is None and each.offset < wanted[each.topic, each.partition]
            ]
            if ahead:
                consumer.commit(offsets=ahead, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in _GROUP_LIVES_THERE:
                raise
        finally:
            consumer.close()


def _committed(cluster: MirrorCluster, group: str, partitions: list[TopicPartition]) -> list[TopicPartition]:
    if not partitions:
        return []
    consumer = _consumer(cluster, group)
    try:
        found = consumer.committed(partitions, timeout=ANSWER_SECONDS_MAX)
    finally:
        consumer.close()
    return [each for each in found if each.error is None and each.offset >= 0]


def _consumer(cluster: MirrorCluster, group: str) -> Consumer:
    return Consumer({**cluster.client_config(), "group.id": group, "enable.auto.commit": False})
