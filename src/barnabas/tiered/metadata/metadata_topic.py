"""``__remote_log_metadata`` as this broker reads and writes it: the topic is the list of everything
in remote storage.

    a subscription for every tiered partition of this broker
        -> follow the metadata partition to which its id hashes
    publish: appended by the leader of the metadata partition -> committed -> read back here
        -> the promise is resolved

A record counts when it was committed *and* came back to this broker's own reader, so that the
broker that published it finds it in its catalogue. Nothing is kept on disk: subscriptions are
filled from the beginning of the topic when the broker starts. A later subscription makes the broker
read its metadata partition from the beginning once more; the other subscriptions skip the records
that they have.

Metadata partitions that this broker leads are read from their logs. The others are fetched from
their leaders, all of one leader in one request, since a broker answers the requests of a connection
in order and these requests wait for records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from barnabas.config.remote_metadata_topic import MetadataTopicSettings
from barnabas.controller.internal_topics import InternalTopics
from barnabas.env.awaiting import awaited
from barnabas.metadata.applier import MetadataView
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import NO_NODE, TopicPartition, Uuid
from barnabas.model.promise import Promise
from barnabas.model.topic_names import REMOTE_LOG_METADATA
from barnabas.node_context import NodeContext
from barnabas.records.batch_header import BatchHeader
from barnabas.records.batches import CorruptBatch, check_crc, walk
from barnabas.records.record import open_batch
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.tiered.metadata.events import RemoteLogEvent, decode_event, encode_event, metadata_partition, partition_of
from barnabas.tiered.metadata.metadata_publishing import MetadataWriter
from barnabas.tiered.metadata.segment_metadata import RemotePartition
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.types import RecordsSource

Key = tuple[Uuid, int]  # a user's partition: topic id and index; the name is only for people

# How long a leader may let a fetch wait, and therefore how long a changed set of partitions may
# wait for the next request.
FETCH_WAIT_MS = 500
PARTITION_BYTES_MAX = 1024 * 1024
RETRY_SECONDS = 0.2
CREATION_RETRY_SECONDS = 1.0
# The longest time that reading the topic may occupy the event loop.
READING_SLICE_SECONDS_MAX = 0.01
_PURPOSE = "remote-log-metadata"


class Subscription:
    """The progress of one tiered partition in its metadata partition."""

    __slots__ = ("applied_offset", "partition", "ready", "replay", "waiting")

    def __init__(self, partition: RemotePartition, replay: Callable[[RemoteLogEvent], None]) -> None:
        self.partition = partition
        self.replay = replay
        self.applied_offset = 0
        # Resolved when everything was read that was committed when reading began.
        self.ready: Promise[None] = Promise()
        self.waiting: list[tuple[int, Promise[ErrorCode]]] = []

    def reached(self, offset: int) -> None:
        if offset <= self.applied_offset:
            return
        self.applied_offset = offset
        kept = [promise for end, promise in self.waiting if end <= offset]
        self.waiting = [(end, promise) for end, promise in self.waiting if end > offset]
        for promise in kept:
            if not promise.done:
                promise.resolve(ErrorCode.NONE)


class _Followed:
    """A metadata partition that this broker follows."""

    __slots__ = ("index", "next_offset", "subscriptions")

    def __init__(self, index: int) -> None:
        self.index = index
        self.next_offset = 0
        self.subscriptions: dict[Key, Subscription] = {}


class MetadataTopic:
    def __init__(
        self,
        context: NodeContext,
        settings: MetadataTopicSettings,
        replicas: LocalReplicas,
        metadata: MetadataView,
        others: OtherBrokers,
        internal_topics: InternalTopics,
    ) -> None:
        self._settings = settings
        self._node_id = context.node_id
        self._log = context.log
        self._replicas = replicas
        self._metadata = metadata
        self._others = others
        self._internal_topics = internal_topics
        self._writer = MetadataWriter(
            context.node_id, replicas, metadata, others, context.clock, timeout_ms=context.settings.integer("request.timeout.ms")
        )
        self._subscriptions: dict[Key, Subscription] = {}
        self._followed: dict[int, _Followed] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}  # by leader
        self._news_here = asyncio.Event()
        self._creation: asyncio.TimerHandle | None = None
        self._creating = False
        self._looking = False
        self._stopped = False

    # -- subscriptions -----------------------------------------------------------------------------

    def subscribe(self, partition: RemotePartition, replay: Callable[[RemoteLogEvent], None]) -> Subscription:
        key = _key(partition)
        assert key not in self._subscriptions, "a partition subscribes once"
        subscription = self._subscriptions[key] = Subscription(partition, replay)
        self._look_soon()
        return subscription

    def unsubscribe(self, partition: RemotePartition) -> None:
        key = _key(partition)
        subscription = self._subscriptions.pop(key, None)
        if subscription is None:
            return
        for _, promise in subscription.waiting:
            if not promise.done:
                promise.resolve(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for index, followed in list(self._followed.items()):
            followed.subscriptions.pop(key, None)
            if not followed.subscriptions:
                del self._followed[index]

    def _metadata_partition(self, partition: RemotePartition) -> int | None:
        """None while the topic does not exist."""
        topic = self._metadata.image.topics.by_name.get(REMOTE_LOG_METADATA)
        return metadata_partition(partition, len(topic.partitions)) if topic is not None and topic.partitions else None

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        """A publisher of cluster metadata: leaders of the topic may have changed, and must be
        looked up once the image is there."""
        if self._subscriptions and any(topic.name == REMOTE_LOG_METADATA for topic, _ in delta.topics.changed_partitions()):
            self._look_soon()

    def stop(self) -> None:
        self._stopped = True
        for task in self._tasks.values():
            task.cancel()
        if self._creation is not None:
            self._creation.cancel()

    # -- publishing --------------------------------------------------------------------------------

    def write(self, event: RemoteLogEvent) -> Promise[ErrorCode]:
        """NONE once the record is committed and this broker has read it back. After an error the
        record may still be in the topic, or get there: events of remote metadata may be written
        twice."""
        partition = partition_of(event)
        index = self._metadata_partition(partition)
        if index is None or self._stopped:
            return Promise.kept(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        answer: Promise[ErrorCode] = Promise()
        self._writer.append(index, encode_event(event)).then(lambda outcome: self._appended(_key(partition), outcome, answer))
        return answer

    def _appended(self, key: Key, outcome: int | ErrorCode, answer: Promise[ErrorCode]) -> None:
        subscription = self._subscriptions.get(key)
        if isinstance(outcome, ErrorCode) or subscription is None:
            answer.resolve(outcome if isinstance(outcome, ErrorCode) else ErrorCode.NONE)
        elif subscription.applied_offset >= outcome:
            answer.resolve(ErrorCode.NONE)
        else:
            subscription.waiting.append((outcome, answer))
            asyncio.get_running_loop().call_later(self._settings.consume_wait_ms / 1000, self._waited, subscription, answer)

    @staticmethod
    def _waited(subscription: Subscription, answer: Promise[ErrorCode]) -> None:
        if not answer.done:
            subscription.waiting = [(end, promise) for end, promise in subscription.waiting if promise is not answer]
            answer.resolve(ErrorCode.REQUEST_TIMED_OUT)

    # -- which leader is followed for which partition ----------------------------------------------

    def _look_soon(self) -> None:
        """Look once for all partitions that come in one turn of the loop, and after the image with
        which they came."""
        if not self._looking and not self._stopped:
            self._looking = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        if self._stopped or not self._subscriptions:
            return
        topic = self._metadata.image.topics.by_name.get(REMOTE_LOG_METADATA)
        if topic is None:
            self._create()
            return
        for key, subscription in self._subscriptions.items():
            index = metadata_partition(subscription.partition, len(topic.partitions))
            followed = self._followed.get(index)
            if followed is None:
                followed = self._followed[index] = _Followed(index)
            if key not in followed.subscriptions:
                followed.subscriptions[key] = subscription
                followed.next_offset = min(followed.next_offset, subscription.applied_offset)
        self._news_here.set()
        for leader in sorted({self._leader(index) for index in self._followed} - {NO_NODE}):
            if leader not in self._tasks:
                task = asyncio.get_running_loop().create_task(self._follow_here() if leader == self._node_id else self._follow_at(leader))
                self._tasks[leader] = task
                task.add_done_callback(lambda done, leader=leader: self._ended(leader, done))  # type: ignore[misc]

    def _leader(self, index: int) -> int:
        return self._others.leader_of(TopicPartition(REMOTE_LOG_METADATA, index))

    def _led_by(self, leader: int) -> list[_Followed]:
        return [followed for index, followed in sorted(self._followed.items()) if self._leader(index) == leader]

    def _ended(self, leader: int, task: asyncio.Task[None]) -> None:
        self._tasks.pop(leader, None)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self._log.error("remote metadata cannot be followed", leader=leader, error=str(failure))
        if not self._stopped:
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._look_soon)

    # -- the topic ---------------------------------------------------------------------------------

    def _create(self) -> None:
        if self._creating or self._stopped:
            return
        self._creating = True
        self._internal_topics.create(REMOTE_LOG_METADATA).then(self._created)

    def _created(self, code: ErrorCode) -> None:
        if code:
            self._log.warning("the topic of remote metadata could not be created", error=code.name)
        self._creation = asyncio.get_running_loop().call_later(CREATION_RETRY_SECONDS, self._created_or_not)

    def _created_or_not(self) -> None:
        self._creating = False
        self._look_soon()

    # -- reading -----------------------------------------------------------------------------------

    async def _follow_here(self) -> None:
        while led := self._led_by(self._node_id):
            self._news_here.clear()
            partitions = []
            before = [each.next_offset for each in led]
            for followed in led:
                partition = self._replicas.get(REMOTE_LOG_METADATA, followed.index)
                if partition is not None and partition.leads:
                    partitions.append(partition)
                    await self._read_here(followed)
            if len(partitions) < len(led):
                # The image names this node as leader, but the replica has not changed its role yet,
                # or its directory failed.
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if any(each.next_offset < partition.high_watermark for each, partition in zip(led, partitions, strict=True)):
                if before == [each.next_offset for each in led]:
                    # A log that cannot be read now must not keep the loop busy.
                    await asyncio.sleep(RETRY_SECONDS)
                continue
            waiting = WaitingFetch(partitions, missing_bytes=1, complete=self._news_here.set)
            try:
                await self._news_here.wait()
            finally:
                waiting.cancel()

    async def _read_here(self, followed: _Followed) -> None:
        partition = self._replicas.get(REMOTE_LOG_METADATA, followed.index)
        assert partition is not None
        followed.next_offset = max(followed.next_offset, partition.log.log_start_offset)
        started = monotonic()
        try:
            while followed.next_offset < partition.high_watermark:
                for header, batch in partition.log.batches(followed.next_offset, partition.high_watermark):
                    self._replay(followed, header, bytes(batch))
                    if monotonic() - started > READING_SLICE_SECONDS_MAX:
                        break
                else:
                    break
                await asyncio.sleep(0)
                started = monotonic()
        except OSError as error:
            self._replicas.disk_failed(partition.directory, error)
            return
        leadership = partition.leadership
        if leadership is not None and leadership.epoch_start_offset <= partition.high_watermark <= followed.next_offset:
            self._reached(followed, followed.next_offset)
        elif followed.next_offset >= partition.high_watermark:
            for subscription in followed.subscriptions.values():
                subscription.reached(followed.next_offset)

    async def _follow_at(self, leader: int) -> None:
        while led := self._led_by(leader):
            topic = self._metadata.image.topics.by_name.get(REMOTE_LOG_METADATA)
            if topic is None:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            asked = {each.index: each.next_offset for each in led}
            request = FetchRequest(
                max_wait_ms=FETCH_WAIT_MS,
                min_bytes=1,
                topics=[
                    FetchTopic(
                        topic=REMOTE_LOG_METADATA,
                        topic_id=topic.topic_id,
                        partitions=[
                            FetchPartition(partition=each.index, fetch_offset=each.next_offset, partition_max_bytes=PARTITION_BYTES_MAX)
                            for each in led
                        ],
                    )
                ],
            )
            sent = self._others.send(leader, request, purpose=_PURPOSE)
            response = await awaited(sent) if sent is not None else None
            if not isinstance(response, FetchResponse) or not await self._fetched(response, asked):
                await asyncio.sleep(RETRY_SECONDS)

    async def _fetched(self, response: FetchResponse, asked: dict[int, int]) -> bool:
        """Returns whether there was no error, so that the next request need not wait."""
        succeeded = not response.error_code
        for topic in response.responses:
            for data in topic.partitions:
                followed = self._followed.get(data.partition_index)
                if followed is None or followed.next_offset != asked.get(data.partition_index):
                    # A new subscription needs this partition from its beginning.
                    continue
                code = known_error(data.error_code)
                if code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    # Old records were deleted, or the end was truncated. The catalogues keep their
                    # state, and records that come again are replayed.
                    followed.next_offset = data.log_start_offset if data.log_start_offset > followed.next_offset else 0
                if code:
                    succeeded = False
                    continue
                records = data.records.read() if isinstance(data.records, RecordsSource) else data.records
                before = followed.next_offset
                succeeded = self._replay_all(followed, bytes(records or b"")) and succeeded
                if records and followed.next_offset == before:
                    succeeded = False
                if followed.next_offset >= data.high_watermark >= 0:
                    self._reached(followed, followed.next_offset)
                await asyncio.sleep(0)
        return succeeded

    def _replay_all(self, followed: _Followed, records: bytes) -> bool:
        try:
            for position, header in walk(records):
                batch = records[position : position + header.size_bytes]
                check_crc(batch, header)
                self._replay(followed, header, batch)
        except CorruptBatch as damage:
            self._log.warning("a damaged batch of remote metadata came", partition=followed.index, detail=str(damage))
            return False
        return True

    def _replay(self, followed: _Followed, header: BatchHeader, batch: bytes) -> None:
        if header.last_offset < followed.next_offset:
            return
        if not header.control:
            try:
                for record in open_batch(batch):
                    self._replay_record(followed, record.offset, record.value)
            except ValueError as error:
                self._log.warning("a batch of remote metadata cannot be read", partition=followed.index, detail=str(error))
        followed.next_offset = header.last_offset + 1
        for subscription in followed.subscriptions.values():
            subscription.reached(followed.next_offset)

    def _replay_record(self, followed: _Followed, offset: int, value: bytes | None) -> None:
        try:
            event = decode_event(value or b"")
        except MalformedMessage as error:
            self._log.warning("a record of remote metadata means nothing", partition=followed.index, offset=offset, detail=str(error))
            return
        subscription = followed.subscriptions.get(_key(partition_of(event)))
        if subscription is not None and offset >= subscription.applied_offset:
            subscription.replay(event)

    def _reached(self, followed: _Followed, end_offset: int) -> None:
        for subscription in list(followed.subscriptions.values()):
            subscription.reached(end_offset)
            if not subscription.ready.done:
                subscription.ready.resolve(None)


def _key(partition: RemotePartition) -> Key:
    return partition.topic_id, partition.partition
