"""One broker of a script: a log on a simulated disk, and the replica that leads or follows.

Only this module touches the replica, by its public methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, Uuid
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import BatchHeader
from barnabas.records.batches import walk
from barnabas.records.record import Record, open_batch
from barnabas.records.validation import Refused
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.declare import default_struct
from barnabas.wire.messages.fetch import EpochEndOffset, FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.scenarios.replication.core import cluster_view, follower_fetch, isr, partition, reads, topic_counters
from tests.scenarios.replication.scripted_controller import PARTITION, TOPIC

PATH = "/data"
WALL_MS = 1_700_000_000_000
SIZE_BYTES_MAX = 1 << 20
DOWN, NO_REPLICA = "is down", "has no replica"


class Shown(NamedTuple):
    """What a transcript shows of a replica. Two of them are compared to say what changed."""

    role: str = NO_REPLICA
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0


@dataclass(frozen=True, slots=True)
class TopicRules:
    topic_id: Uuid
    min_isr: int
    fetch_bytes: int


class ScriptedBroker:
    def __init__(self, node_id: int, propose: Callable[[ScriptedBroker, isr.IsrChange], None]) -> None:
        self.node_id = node_id
        self.epoch = -1
        self.incarnation = 0
        self.up = False
        self.stopped_cleanly = False
        self.stalled = False
        self.silent = False
        self.delayed = False
        self.news: list[MetadataImage] = []
        self._propose = propose
        self._disk = SimulatedDisk(Random(node_id))
        self._disk.make_directory(PATH)
        self._disk.sync_directory("/")
        self._known = MetadataImage()
        self._directory: LogDirectory | None = None
        self._replica: partition.Partition | None = None
        self._fetcher: follower_fetch.FollowerFetch | None = None
        self._followed: int = NO_NODE

    @property
    def directory_id(self) -> Uuid:
        return Uuid(bytes([100 + self.node_id]) * 16)

    # -- starting and stopping ----------------------------------------------------------------

    def start(self, rules: TopicRules | None, *, end_offset: int | None = None) -> None:
        """``end_offset``: the disk lost what lies at and above it."""
        self.up, self.incarnation = True, self.incarnation + 1
        self._known = MetadataImage()
        self._directory = LogDirectory(self._disk, PATH, self.directory_id)
        settings = _settings(rules)
        found = list(self._directory.open_logs(lambda _: settings, clean=self.stopped_cleanly, now_ms=WALL_MS))
        for each in found:
            assert rules is not None
            if end_offset is not None:
                each.log.truncate_to(end_offset)
            self._directory.add(each.log)
            self._replica = self._made(each.log, rules, min(each.high_watermark, each.log.log_end_offset))

    def kill(self, *, cleanly: bool = False) -> None:
        self.stopped_cleanly = cleanly
        if self._directory is not None and self._replica is not None:
            # A broker does this every few seconds, and when it stops.
            self._replica.log.flush()
            for checkpoint in (self._directory.recovery_point_checkpoint, self._directory.high_watermark_checkpoint):
                write = checkpoint()
                if write is not None:
                    write()
        self._disk = self._disk.kill()
        self.up, self._directory, self._replica, self._fetcher, self._followed = False, None, None, None, NO_NODE
        self.news = []

    def _made(self, log: Any, rules: TopicRules, high_watermark: int) -> partition.Partition:
        assert self._directory is not None
        view = cluster_view.ClusterView(
            broker=lambda broker_id: self._known.cluster.brokers.get(broker_id),
            own_epoch=lambda: self.epoch,
            propose=lambda _, change: self._propose(self, change),
        )
        replica = partition.Partition(
            PARTITION,
            rules.topic_id,
            log,
            self._directory,
            node_id=self.node_id,
            high_watermark=high_watermark,
            counters=topic_counters.TopicCounters(Metrics(), TOPIC),
            cluster_view=view,
        )
        self._directory.high_watermarks[PARTITION] = lambda: replica.high_watermark
        return replica

    # -- metadata ----------------------------------------------------------------------------------

    def learn(self, image: MetadataImage, rules: TopicRules | None, now_ms: int) -> None:
        self._known = image
        wanted = image.topics.partition(PARTITION)
        if wanted is None or rules is None:
            return
        if self.node_id not in wanted.replicas:
            self._remove_replica()
            return
        if self._replica is None:
            assert self._directory is not None
            log = self._directory.create(PARTITION, rules.topic_id, _settings(rules), now_ms=WALL_MS)
            self._directory.add(log)
            self._replica = self._made(log, rules, 0)
        self._replica.follow_metadata(wanted, now_ms)
        self._replica.brokers_changed()
        self._follow(rules)

    def _remove_replica(self) -> None:
        if self._replica is not None and self._directory is not None:
            self._replica.resign()
            self._disk.remove_directory(self._replica.log.directory)
            self._directory = LogDirectory(self._disk, PATH, self.directory_id)
        self._replica, self._fetcher, self._followed = None, None, NO_NODE

    def _follow(self, rules: TopicRules) -> None:
        replica = self._replica
        assert replica is not None
        if replica.leads or replica.leader == NO_NODE:
            self._fetcher, self._followed = None, NO_NODE
            return
        if self._fetcher is None or self._followed != replica.leader:
            self._fetcher = follower_fetch.FollowerFetch(
                self.node_id,
                follower_fetch.FetchLimits(partition_bytes_max=rules.fetch_bytes),
                replica_epoch=lambda: self.epoch,
                on_disk_failure=_fail,
                on_event=lambda *_: None,
            )
            self._followed = replica.leader
        self._fetcher.follow(replica)

    # -- what is shown -----------------------------------------------------------------------------

    @property
    def shown(self) -> Shown:
        replica = self._replica
        if not self.up:
            return Shown(DOWN)
        if replica is None:
            return Shown()
        if replica.leads:
            role = f"leads epoch {replica.leader_epoch}"
        elif replica.leader == NO_NODE:
            role = f"has no leader, epoch {replica.leader_epoch}"
        else:
            role = f"follows {replica.leader}, epoch {replica.leader_epoch}"
        return Shown(role, replica.log.log_start_offset, replica.log.log_end_offset, replica.high_watermark)

    def batches(self) -> list[str]:
        if self._replica is None:
            return []
        log = self._replica.log
        return [batch_text(header, data) for header, data in log.batches(log.log_start_offset, log.log_end_offset)]

    def epochs(self) -> list[tuple[int, int]]:
        return [] if self._replica is None else [(each.epoch, each.start_offset) for each in self._replica.log.leader_epochs.entries]

    # -- clients -----------------------------------------------------------------------------------

    def produce(self, values: list[str], acks: int, on_acknowledged: Callable[[ErrorCode], None]) -> ErrorCode | str:
        """The batch as it was appended, or why not."""
        if self._replica is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        batch = build_batch(Record(index, WALL_MS, None, each.encode()) for index, each in enumerate(values))
        outcome = self._replica.append(memoryview(batch), acks, WALL_MS)
        if isinstance(outcome, Refused):
            return outcome.code
        appended = self.batches()[-1]
        if acks == partition.ACKS_ALL:
            self._replica.replicated(outcome.last_offset + 1).then(on_acknowledged)
        else:
            on_acknowledged(ErrorCode.NONE)
        return appended

    def consume(self, offset: int) -> ErrorCode | list[str]:
        read = reads.read_partition(
            self._replica, offset=offset, size_bytes_max=SIZE_BYTES_MAX, isolation=reads.READ_UNCOMMITTED, at_least_one=True
        )
        if read.error or read.region is None:
            return read.error or []
        return [batch_text(header, data) for header, data in _read(read.region)]

    def delete_records(self, offset: int) -> int:
        assert self._replica is not None
        return self._replica.delete_records(offset)

    # -- a leader ----------------------------------------------------------------------------------

    def check_isr(self, now_ms: int) -> None:
        if self._replica is not None:
            self._replica.check_isr(now_ms)

    def isr_answered(self, change: isr.IsrChange, answer: isr.IsrAnswer | ErrorCode) -> bool:
        """Whether to ask again."""
        if self._replica is None:
            return False
        if isinstance(answer, ErrorCode):
            return self._replica.isr_refused(change, answer)
        self._replica.isr_agreed(change, answer)
        return False

    def serve(self, request: follower_fetch.Request, now_ms: int) -> follower_fetch.Response:
        if isinstance(request, FetchRequest):
            return self._serve_fetch(request, now_ms)
        return self._serve_offsets(request)

    def _serve_fetch(self, request: FetchRequest, now_ms: int) -> FetchResponse:
        asked, replica_id = request.topics[0].partitions[0], request.replica_state.replica_id
        read = reads.read_for_follower(
            self._replica,
            replica_id,
            offset=asked.fetch_offset,
            size_bytes_max=asked.partition_max_bytes,
            current_leader_epoch=asked.current_leader_epoch,
            last_fetched_epoch=asked.last_fetched_epoch,
            at_least_one=True,
        )
        error, high_watermark = read.error, read.high_watermark
        if self._replica is not None and not error and read.diverging is None:
            error = self._replica.follower_fetched(
                replica_id,
                offset=asked.fetch_offset,
                log_start_offset=asked.log_start_offset,
                replica_epoch=request.replica_state.replica_epoch,
                now_ms=now_ms,
            )
            high_watermark = self._replica.high_watermark
        records = b""
        if read.region is not None:
            records = b"".join(bytes(data) for _, data in _read(read.region)) if not error else b""
        diverging = default_struct(EpochEndOffset)
        if read.diverging is not None:
            diverging = EpochEndOffset(epoch=read.diverging.epoch, end_offset=read.diverging.start_offset)
        answer = PartitionData(
            partition_index=0,
            error_code=error,
            high_watermark=high_watermark,
            log_start_offset=read.log_start_offset,
            aborted_transactions=None,
            records=records,
            diverging_epoch=diverging,
        )
        topic = FetchableTopicResponse(topic_id=request.topics[0].topic_id, partitions=[answer])
        # Without a session every request names the partition.
        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[topic])

    def _serve_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        asked = request.topics[0].partitions[0]
        error = reads.check_leader(self._replica, asked.current_leader_epoch)
        offset = -1
        if not error and self._replica is not None:
            log = self._replica.log
            offset = log.log_end_offset if asked.timestamp == follower_fetch.LATEST else log.log_start_offset
        found = ListOffsetsPartitionResponse(partition_index=0, error_code=error, timestamp=-1, offset=offset, leader_epoch=-1)
        return ListOffsetsResponse(throttle_time_ms=0, topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[found])])

    # -- a follower --------------------------------------------------------------------------------

    def next_request(self, now_ms: int) -> tuple[int, follower_fetch.Request] | None:
        """The leader, and what to ask it."""
        request = self._fetcher.next_request(now_ms) if self._fetcher is not None else None
        return (self._followed, request) if request is not None else None

    def answered(self, response: follower_fetch.Response | ErrorCode, now_ms: int) -> None:
        if self._fetcher is not None:
            self._fetcher.answered(response, now_ms, wall_ms=WALL_MS)


def batch_text(header: BatchHeader, data: Any) -> str:
    where = f"{header.base_offset}" if header.base_offset == header.last_offset else f"{header.base_offset}-{header.last_offset}"
    values = " ".join((each.value or b"").decode() for each in open_batch(data))
    return f"{where} {values} @{header.leader_epoch}"


def _read(region: Any) -> list[tuple[BatchHeader, memoryview]]:
    data = memoryview(region.read())
    region.release()
    return [(header, data[position : position + header.size_bytes]) for position, header in walk(data)]


def _settings(rules: TopicRules | None) -> LogSettings:
    return LogSettings(min_insync_replicas=rules.min_isr) if rules is not None else LogSettings()


def _fail(_: partition.Partition, error: OSError) -> None:
    raise error
