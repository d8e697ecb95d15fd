"""How far groups are behind, in records and in seconds.

Two facts make a lag, and in a cluster they are in two places. The group's coordinator has the
committed offset; the partition's replicas have its end and its records. So the coordinator
measures, every INTERVAL_SECONDS and never while it serves a request:

    records   high watermark - committed offset
    seconds   now - timestamp of the first record at or above the committed offset; 0 without one

For a partition with an in-sync replica on this node both come from the replica. For any other the
coordinator asks the leader, as a consumer would: one ListOffsets for all partitions of a leader,
and a Fetch of one batch for each timestamp. A timestamp is looked up once: it stays true until the
group commits again, so a group that is stuck costs nothing.

Every measurement has a bound: SERIES_MAX partitions of groups, LOOKUPS_MAX local and FETCHES_MAX
remote lookups a round. Partitions beyond SERIES_MAX, those of groups with longer names than
GROUP_CHARACTERS_MAX, and those whose leader does not answer, are counted in
``barnabas_group_lag_unknown_partitions``. A timestamp that has to wait for a later round
leaves only the seconds out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from barnabas.api.broker import Broker
from barnabas.env.awaiting import awaited
from barnabas.env.slices import in_slices
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.node_context import NodeContext
from barnabas.records.batch_header import CONTROL_BIT, DELETE_HORIZON_BIT, HEADER_BYTES, LOG_APPEND_TIME_BIT, read_header
from barnabas.records.record import open_batch
from barnabas.replication.partition import Partition
from barnabas.storage.log import OffsetIsRemote, OffsetOutOfRange
from barnabas.telemetry.catalogue import GROUP_LAG_RECORDS, GROUP_LAG_SECONDS, GROUP_LAG_UNKNOWN
from barnabas.telemetry.metrics import Reading
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic
from barnabas.wire.types import RecordsSource

# As often as Prometheus scrapes by default.
INTERVAL_SECONDS = 15.0
# Each is two series of the page. Prometheus itself advises against more than this for one metric.
SERIES_MAX = 10_000
# A client may choose a name of 32 KB, which the page would repeat for every partition.
GROUP_CHARACTERS_MAX = 255
LOOKUPS_MAX = 1_000
FETCHES_MAX = 100
# Behind markers of transactions the first record may be in a later batch.
BATCHES_LOOKED_AT_MAX = 4
REMOTE_BATCH_BYTES_MAX = 64 * 1024

_CONSUMER, _LATEST = -1, -1
_PURPOSE = "group-lag"


# Stands for a timestamp where the group has consumed everything but markers of transactions.
_NO_RECORD = -1


@dataclass(frozen=True, slots=True)
class _Committed:
    group: str
    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class _Lag:
    committed: _Committed
    records: int
    timestamp_ms: int | None
    """Of the first record that is not consumed; _NO_RECORD without one, None if it is unknown."""


_Place = tuple[TopicPartition, int]


class GroupLag:
    def __init__(self, context: NodeContext, broker: Broker) -> None:
        self._context = context
        self._broker = broker
        self._task: asyncio.Task[None] | None = None
        # The last round. The thread of the page reads them, so they are replaced and never changed.
        self._lags: list[_Lag] = []
        self._unknown = 0
        self._timestamps: dict[_Place, int] = {}
        metrics = context.metrics
        metrics.reading(GROUP_LAG_RECORDS, lambda: [(_labels(each), each.records) for each in self._lags])
        metrics.reading(GROUP_LAG_SECONDS, self._seconds)
        metrics.reading(GROUP_LAG_UNKNOWN, lambda: [((), self._unknown)])

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._measure_for_ever())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _seconds(self) -> list[Reading]:
        now_ms = self._context.clock.wall_ms()
        return [
            (_labels(each), 0.0 if each.timestamp_ms == _NO_RECORD else max(0, now_ms - each.timestamp_ms) / 1000)
            for each in self._lags
            if each.timestamp_ms is not None
        ]

    async def _measure_for_ever(self) -> None:
        while True:
            try:
                await self.measure()
            except Exception as bug:
                self._context.log.error("lag of groups cannot be measured", error=str(bug), exc_info=bug)
            await asyncio.sleep(INTERVAL_SECONDS)

    # -- one round ---------------------------------------------------------------------------------

    async def measure(self) -> None:
        committed, too_many = await self._committed()
        ends = await self._ends({each.partition for each in committed})
        places = {each: self._place(each) for each in committed if ends.get(each.partition, 0) > each.offset}
        behind = set(places.values())
        known = {place: timestamp for place, timestamp in self._timestamps.items() if place in behind and timestamp != _NO_RECORD}
        await self._look_up(behind - known.keys(), known)
        self._timestamps = known
        self._lags = [
            _Lag(each, max(0, ends[each.partition] - each.offset), known.get(places[each]) if each in places else _NO_RECORD)
            for each in committed
            if each.partition in ends
        ]
        self._unknown = too_many + len(committed) - len(self._lags)

    async def _committed(self) -> tuple[list[_Committed], int]:
        """Offsets of partitions that exist, up to SERIES_MAX, and how many more there are.

        The loop turns after each shard. Beyond SERIES_MAX the offsets of a group are counted
        without a look at each of them.
        """
        topics = self._broker.metadata.image.topics
        found: list[_Committed] = []
        more = 0
        for machine in list(self._broker.groups.runtime.machines()):
            for group, offsets in machine.offsets.committed():
                if len(group) > GROUP_CHARACTERS_MAX or len(found) + len(offsets) > SERIES_MAX:
                    more += len(offsets)
                    continue
                found += [
                    _Committed(group, partition, committed.offset)
                    for partition, committed in offsets.items()
                    if committed.offset >= 0 and topics.partition(partition) is not None
                ]
            await asyncio.sleep(0)
        return found, more

    def _place(self, committed: _Committed) -> _Place:
        """Where the first record that is not consumed may be: retention may have deleted the ones
        behind the committed offset."""
        replica = self._local(committed.partition)
        return committed.partition, max(committed.offset, replica.log.log_start_offset if replica is not None else 0)

    def _local(self, partition: TopicPartition) -> Partition | None:
        """The replica on this node, if its end and its records are those of the leader."""
        replica = self._broker.replicas.get(partition.topic, partition.partition)
        if replica is None or not replica.online or not (replica.leads or self._context.node_id in replica.isr):
            return None
        return replica

    # -- ends of partitions ------------------------------------------------------------------------

    async def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        ends: dict[TopicPartition, int] = {}
        elsewhere: dict[int, list[TopicPartition]] = {}
        async for partition in in_slices(list(partitions)):
            replica = self._local(partition)
            if replica is not None:
                ends[partition] = replica.high_watermark
            else:
                elsewhere.setdefault(self._broker.others.leader_of(partition), []).append(partition)
        elsewhere.pop(NO_NODE, None)
        for found in await asyncio.gather(*(self._ends_at(leader, asked) for leader, asked in elsewhere.items())):
            ends.update(found)
        return ends

    async def _ends_at(self, leader: int, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        topics: dict[str, ListOffsetsTopic] = {}
        for each in partitions:
            asked = ListOffsetsPartition(partition_index=each.partition, timestamp=_LATEST)
            topics.setdefault(each.topic, ListOffsetsTopic(name=each.topic, partitions=[])).partitions.append(asked)
        sent = self._broker.others.send(leader, ListOffsetsRequest(replica_id=_CONSUMER, topics=list(topics.values())), purpose=_PURPOSE)
        response = await awaited(sent) if sent is not None else None
        if not isinstance(response, ListOffsetsResponse):
            return {}
        return {
            TopicPartition(topic.name, each.partition_index): each.offset
            for topic in response.topics
            for each in topic.partitions
            if each.error_code == ErrorCode.NONE
        }

    # -- timestamps of records ---------------------------------------------------------------------

    async def _look_up(self, places: Iterable[_Place], known: dict[_Place, int]) -> None:
        lookups = fetches = 0
        for place in places:
            replica = self._local(place[0])
            if replica is not None and lookups < LOOKUPS_MAX:
                lookups += 1
                timestamp = await self._timestamp_here(replica, place[1])
            elif replica is None and fetches < FETCHES_MAX:
                fetches += 1
                timestamp = await self._timestamp_at_leader(place)
            else:
                continue
            if timestamp is not None:
                known[place] = timestamp

    async def _timestamp_here(self, replica: Partition, offset: int) -> int | None:
        log, end = replica.log, replica.high_watermark
        for _ in range(BATCHES_LOOKED_AT_MAX):
            try:
                region = log.read(offset, size_bytes_max=1, end_offset=end, at_least_one=True).region
                if region is None:
                    return _NO_RECORD
                # The file is opened here and read by a thread that may wait for the disk.
                region.descriptor()
                batch = await asyncio.get_running_loop().run_in_executor(self._context.executor, region.read)
                region.release()
            except (OffsetOutOfRange, OffsetIsRemote, OSError):
                # The record is in remote storage only, or gone; a disk that fails is found by its
                # own readers.
                return None
            found = timestamp_in(batch, offset)
            if found is not None:
                return found
            offset = read_header(batch).last_offset + 1
        return None

    async def _timestamp_at_leader(self, place: _Place) -> int | None:
        partition, offset = place
        topic = self._broker.metadata.image.topics.by_name.get(partition.topic)
        leader = self._broker.others.leader_of(partition)
        if topic is None or leader == NO_NODE:
            return None
        asked = FetchPartition(partition=partition.partition, fetch_offset=offset, partition_max_bytes=REMOTE_BATCH_BYTES_MAX)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=REMOTE_BATCH_BYTES_MAX,
            topics=[FetchTopic(topic=partition.topic, topic_id=topic.topic_id, partitions=[asked])],
        )
        sent = self._broker.others.send(leader, request, purpose=_PURPOSE)
        response = await awaited(sent) if sent is not None else None
        if not isinstance(response, FetchResponse) or not response.responses:
            return None
        data = response.responses[0].partitions[0]
        if data.error_code:
            return None
        records = bytes((data.records.read() if isinstance(data.records, RecordsSource) else data.records) or b"")
        while len(records) >= HEADER_BYTES and len(records) >= read_header(records).size_bytes:
            found = timestamp_in(records, offset)
            if found is not None:
                return found
            records = records[read_header(records).size_bytes :]
        return None


def timestamp_in(batch: bytes, offset: int) -> int | None:
    """The timestamp of the first record at or above ``offset`` in the batch at the beginning of
    ``batch``; None if it has no such record."""
    header = read_header(batch)
    if header.attributes & CONTROL_BIT:
        return None
    if header.attributes & LOG_APPEND_TIME_BIT:
        return header.max_timestamp
    if offset <= header.base_offset and not header.attributes & DELETE_HORIZON_BIT:
        # The usual case: a consumer commits whole batches. The field belongs to the first record,
        # unless compaction keeps a time of its own in it.
        return header.base_timestamp
    try:
        return next((record.timestamp for record in open_batch(batch[: header.size_bytes]) if record.offset >= offset), None)
    except ValueError:
        return header.max_timestamp


def _labels(lag: _Lag) -> tuple[str, str, str]:
    committed = lag.committed
    return committed.group, committed.partition.topic, str(committed.partition.partition)
