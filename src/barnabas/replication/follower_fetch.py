"""A follower's side of one connection to one leader: the next request, and the handling of its
response. No clock, no network.

    fetching  --offset out of range-->         asks for the leader's end offset
                its end is below ours:           truncate to it --> fetching
                otherwise:                       asks for its start offset --> fetching
    fetching  --offset is in remote storage--> asks where the leader's local log begins
                                               --> building from remote storage --> fetching
    fetching  --diverging epoch-->             truncate --> fetching
    fetching  --error, damaged batch, no response--> backing off --> fetching
    fetching  --the epoch is too old-->        failed, until the metadata brings a newer one

One request is in flight at a time. Fetches name topics by id, which works with every broker that
also takes the replica epoch (version 15). Partitions that back off or failed are left out of the
fetch. A response counts for a partition only if the partition is still followed in the epoch, and
at the offset, of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from barnabas.env.disk import out_of_room
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import Uuid
from barnabas.records.batches import CorruptBatch
from barnabas.replication.following import lacks_its_past
from barnabas.replication.leader_session import SESSION_LOST, Asked, Key, LeaderSession
from barnabas.replication.partition import Partition
from barnabas.storage.leader_epochs import EpochStart
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.wire.types import RecordsSource

LATEST, EARLIEST, EARLIEST_LOCAL, EARLIEST_PENDING_UPLOAD = -1, -2, -4, -6
# The first wait after a failure is this fraction of replica.fetch.backoff.ms, and then it doubles:
# after an election the leader often learns of it some milliseconds after its followers, and during
# a whole second of waiting no record would be acknowledged.
FIRST_BACKOFF_PART = 32
# How long throttled partitions rest before the throttle is checked again.
THROTTLE_LOOK_MS = 100

Request = FetchRequest | ListOffsetsRequest
Response = FetchResponse | ListOffsetsResponse


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """From ``replica.fetch.*``."""

    wait_ms_max: int = 500
    size_bytes_min: int = 1
    size_bytes_max: int = 10_485_760
    partition_bytes_max: int = 1_048_576
    backoff_ms: int = 1000


class Ask(Enum):
    DATA = "batches"
    END = "where the leader's log ends"
    START = "where the leader's log begins"
    LOCAL_START = "where the leader's local log begins"
    PENDING_UPLOAD = "where the leader's log begins that is not remote yet"


_TIMESTAMPS = {
    Ask.END: LATEST,
    Ask.START: EARLIEST,
    Ask.LOCAL_START: EARLIEST_LOCAL,
    Ask.PENDING_UPLOAD: EARLIEST_PENDING_UPLOAD,
}


@dataclass(frozen=True, slots=True)
class TieredStart:
    """Where a follower begins whose leader has moved the older part of its log to remote
    storage."""

    offset: int
    leader_epoch: int
    """The epoch of the leader's batch at ``offset``."""
    log_start_offset: int
    """The start of the leader's whole log."""


class Followed:
    """A partition, in the leader epoch in which it is followed."""

    __slots__ = ("ask", "asked", "building", "failed", "failures", "leader_epoch", "leader_start", "partition", "resumes_ms")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.ask = Ask.LOCAL_START if lacks_its_past(partition.log) else Ask.DATA
        self.resumes_ms = 0
        self.failures = 0  # in a row
        self.failed = False
        self.asked: Asked | None = None  # in the request in flight
        self.building = False  # from remote storage
        # The leader's log start offset, from the response that the requested offset is remote.
        self.leader_start = partition.log.log_start_offset

    @property
    def now(self) -> Asked:
        log = self.partition.log
        return Asked(self.leader_epoch, log.log_end_offset, log.leader_epochs.latest, log.log_start_offset)


def _never(_: Partition) -> bool:
    return False


def _uncounted(_: Partition, __: int) -> None:
    pass


def _not_tiered(_: Partition, __: TieredStart, built: Callable[[bool], None]) -> None:
    built(False)


class FollowerFetch:
    def __init__(
        self,
        replica_id: int,
        limits: FetchLimits,
        *,
        replica_epoch: Callable[[], int],
        on_disk_failure: Callable[[Partition, OSError], None],
        on_event: Callable[[str, Partition, str], None],
        throttled: Callable[[Partition], bool] = _never,
        on_bytes: Callable[[Partition, int], None] = _uncounted,
        on_tiered: Callable[[Partition, TieredStart, Callable[[bool], None]], None] = _not_tiered,
        skips_tiered: Callable[[], bool] = lambda: False,
    ) -> None:
        """``on_event(what, partition, detail)`` receives events for the operator. Partitions
        that are ``throttled`` are left out of a fetch; ``on_bytes`` counts received bytes.
        ``on_tiered(partition, start, built)`` restarts a partition at ``start`` with the state
        of everything below from remote storage, and then calls ``built`` with whether it
        succeeded; until then the partition is not fetched. ``skips_tiered()`` returns whether a
        new replica begins behind everything remote (KIP-1023), instead of where the leader's
        local log begins."""
        self._replica_id = replica_id
        self._limits = limits
        self._replica_epoch = replica_epoch
        self._on_disk_failure = on_disk_failure
        self._on_event = on_event
        self._throttled = throttled
        self._on_bytes = on_bytes
        self._on_tiered = on_tiered
        self._skips_tiered = skips_tiered
        self._followed: dict[Key, Followed] = {}
        self._session = LeaderSession()
        self._under_way: Request | None = None
        self.failures = 0  # of whole requests, and of single partitions

    # -- partitions --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._followed)

    def __iter__(self) -> Iterator[Followed]:
        return iter(self._followed.values())

    def follow(self, partition: Partition) -> None:
        """Follow in the partition's leader epoch. In the same epoch nothing changes."""
        key = (partition.topic_id, partition.partition.partition)
        known = self._followed.get(key)
        if known is None or known.partition is not partition or known.leader_epoch != partition.leader_epoch:
            self._followed[key] = Followed(partition)

    def forget(self, partition: Partition) -> None:
        self._followed.pop((partition.topic_id, partition.partition.partition), None)

    # -- requests ---------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._under_way is not None

    def next_request(self, now_ms: int) -> Request | None:
        """The request to send now; None while one is in flight, and when there is none before
        :meth:`resumes_ms`."""
        if self._under_way is not None:
            return None
        ready = {
            key: each
            for key, each in self._followed.items()
            if not each.failed and not each.building and each.resumes_ms <= now_ms and each.partition.directory.failure is None
        }
        lost = {key: each for key, each in ready.items() if each.ask is not Ask.DATA}
        if lost:
            self._under_way = self._offsets_request(lost)
        else:
            fetched = {key: each for key, each in ready.items() if not self._throttled(each.partition)}
            self._under_way = self._fetch_request(fetched) if fetched else None
        return self._under_way

    def resumes_ms(self, now_ms: int) -> int | None:
        """When to call :meth:`next_request` again after it returned None; None when no partition
        can be fetched."""
        waiting = [each.resumes_ms for each in self._followed.values() if not each.failed and not each.building]
        if not waiting:
            return None
        return min(waiting) if min(waiting) > now_ms else now_ms + THROTTLE_LOOK_MS

    def _fetch_request(self, wanted: dict[Key, Followed]) -> FetchRequest:
        for each in wanted.values():
            each.asked = each.now
        session, limits = self._session, self._limits
        named, forgotten = session.update({key: each.asked for key, each in wanted.items() if each.asked is not None})
        topics: dict[Uuid, FetchTopic] = {}
        for key in named:
            each = wanted[key]
            asked = each.asked
            assert asked is not None
            topic = topics.get(key[0])
            if topic is None:
                topic = topics[key[0]] = FetchTopic(topic_id=key[0], partitions=[])
            topic.partitions.append(
                FetchPartition(
                    partition=key[1],
                    current_leader_epoch=asked.leader_epoch,
                    fetch_offset=asked.offset,
                    last_fetched_epoch=asked.last_epoch,
                    log_start_offset=asked.log_start_offset,
                    partition_max_bytes=limits.partition_bytes_max,
                    replica_directory_id=each.partition.directory.directory_id,
                )
            )
        dropped: dict[Uuid, ForgottenTopic] = {}
        for topic_id, index in forgotten:
            dropped.setdefault(topic_id, ForgottenTopic(topic_id=topic_id)).partitions.append(index)
        return FetchRequest(
            replica_state=ReplicaState(replica_id=self._replica_id, replica_epoch=self._replica_epoch()),
            max_wait_ms=limits.wait_ms_max,
            min_bytes=limits.size_bytes_min,
            max_bytes=limits.size_bytes_max,
            session_id=session.session_id,
            session_epoch=session.epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(dropped.values()),
        )

    def _offsets_request(self, wanted: dict[Key, Followed]) -> ListOffsetsRequest:
        topics: dict[str, ListOffsetsTopic] = {}
        for (_, index), each in wanted.items():
            each.asked = each.now
            name = each.partition.partition.topic
            topics.setdefault(name, ListOffsetsTopic(name=name, partitions=[])).partitions.append(
                ListOffsetsPartition(
                    partition_index=index,
                    current_leader_epoch=each.leader_epoch,
                    timestamp=_TIMESTAMPS[each.ask],
                )
            )
        return ListOffsetsRequest(replica_id=self._replica_id, isolation_level=0, topics=list(topics.values()))

    # -- responses --------------------------------------------------------------------------------

    def answered(self, response: Response | ErrorCode, now_ms: int, *, wall_ms: int) -> None:
        """The response to the request in flight, or the reason why there is none. ``wall_ms`` is
        the time by which segments age."""
        request, self._under_way = self._under_way, None
        if isinstance(request, FetchRequest) and isinstance(response, FetchResponse):
            self._fetched(response, now_ms, wall_ms)
        elif isinstance(request, ListOffsetsRequest) and isinstance(response, ListOffsetsResponse):
            for topic in response.topics:
                for answer in topic.partitions:
                    each = self._by_name(topic.name, answer.partition_index)
                    if each is not None and each.ask is not Ask.DATA and each.asked == each.now:
                        each.asked = None
                        self._guard(each, now_ms, lambda each=each, answer=answer: self._locate(each, answer, now_ms))  # type: ignore[misc]
            for each in self._followed.values():
                if each.asked is not None and each.ask is not Ask.DATA:
                    # The response has no entry for this partition.
                    self._back_off(each, now_ms)
        elif request is not None:
            self._lose(now_ms)
        for each in self._followed.values():
            each.asked = None

    def _lose(self, now_ms: int) -> None:
        """It is unknown whether the leader has handled the request."""
        self._session.lost()
        for each in self._followed.values():
            if each.asked is not None:
                self._back_off(each, now_ms)

    def _fetched(self, response: FetchResponse, now_ms: int, wall_ms: int) -> None:
        code = known_error(response.error_code)
        if code in SESSION_LOST:
            self._session.lost(code)
            return
        if code:
            self._lose(now_ms)
            return
        self._session.answered(response.session_id)
        for topic in response.responses:
            for data in topic.partitions:
                each = self._followed.get((topic.topic_id, data.partition_index))
                # The partition may have changed its epoch or been truncated since the request; then
                # the response does not apply.
                if each is not None and each.ask is Ask.DATA and each.asked == each.now:
                    self._guard(each, now_ms, lambda each=each, data=data: self._take(each, data, now_ms, wall_ms))  # type: ignore[misc]

    def _guard(self, each: Followed, now_ms: int, action: Callable[[], None]) -> None:
        try:
            action()
        except CorruptBatch as damage:
            self._on_event("a leader sent a damaged batch", each.partition, str(damage))
            self._back_off(each, now_ms)
        except OSError as error:
            if out_of_room(error):
                self._back_off(each, now_ms)
            else:
                each.failed = True
            self._on_disk_failure(each.partition, error)

    def _take(self, each: Followed, data: PartitionData, now_ms: int, wall_ms: int) -> None:
        code = known_error(data.error_code)
        partition = each.partition
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            each.ask = Ask.END
        elif code is ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE:
            each.leader_start = max(0, data.log_start_offset)
            each.ask = Ask.PENDING_UPLOAD if self._skips_tiered() and not partition.log.log_end_offset else Ask.LOCAL_START
        elif code:
            self._refused(each, code, now_ms)
        elif data.diverging_epoch.epoch >= 0:
            diverging = EpochStart(data.diverging_epoch.epoch, max(0, data.diverging_epoch.end_offset))
            self._cut(partition, "a log was cut where its leader's diverged", lambda: partition.truncate_by_epoch(diverging))
            if each.asked == each.now:
                # There was nothing to truncate, so the same request at once would get the same
                # response.
                self._back_off(each, now_ms)
        else:
            records = data.records
            if records:
                # Records from a network are bytes already; the simulated network may pass on the
                # file.
                batches = records.read() if isinstance(records, RecordsSource) else records
                appended = partition.append_as_follower(batches, leader_epoch=each.leader_epoch, now_ms=wall_ms)
                self._on_bytes(partition, appended)
                if not appended:
                    # The response has no whole batch of this epoch, and the same request will get
                    # the same response for a while.
                    self._back_off(each, now_ms)
                    return
            partition.learn_offsets(high_watermark=data.high_watermark, log_start_offset=data.log_start_offset)
            each.failures = 0

    def _cut(self, partition: Partition, what: str, cut: Callable[[], None]) -> None:
        """Truncate and report it. After an unclean election a leader may lack committed records:
        then they are lost here too, but never silently."""
        before, committed = partition.log.log_end_offset, partition.high_watermark
        cut()
        end = partition.log.log_end_offset
        loss = f", below the high watermark {committed}: records that were committed are lost" if end < committed else ""
        self._on_event(what, partition, f"{before} to {end}{loss}")

    def _locate(self, each: Followed, answer: ListOffsetsPartitionResponse, now_ms: int) -> None:
        """The leader's log does not have our end offset: its end is below ours, or its start is
        above it."""
        code = known_error(answer.error_code)
        partition = each.partition
        if each.ask is Ask.PENDING_UPLOAD and not code and answer.offset < 0:
            # This leader does not know yet which offsets are remote.
            each.ask = Ask.LOCAL_START
        elif code or answer.offset < 0:
            self._refused(each, code or ErrorCode.UNKNOWN_SERVER_ERROR, now_ms)
        elif each.ask in (Ask.LOCAL_START, Ask.PENDING_UPLOAD):
            each.ask = Ask.DATA
            if answer.offset > partition.log.log_end_offset or lacks_its_past(partition.log):
                self._build(each, TieredStart(answer.offset, answer.leader_epoch, min(each.leader_start, answer.offset)), now_ms)
        elif each.ask is Ask.END and answer.offset >= partition.log.log_end_offset:
            each.ask = Ask.START
        elif each.ask is Ask.END:
            self._cut(partition, "a log reached beyond its leader's end", lambda: partition.truncate_to(answer.offset))
            each.ask = Ask.DATA
        else:
            each.ask = Ask.DATA
            if answer.offset > partition.log.log_end_offset:
                self._on_event("a log ended before its leader's began", partition, f"{partition.log.log_end_offset} to {answer.offset}")
                partition.restart_at(answer.offset)
            else:
                # The offset is in range after all, and still refused: the leader's log moves, or
                # does not know our epoch.
                self._back_off(each, now_ms)

    def _build(self, each: Followed, start: TieredStart, now_ms: int) -> None:
        each.building = True

        def built(done: bool) -> None:
            each.building = False
            if done:
                each.failures = 0
            else:
                self._back_off(each, now_ms)

        self._on_tiered(each.partition, start, built)

    def _refused(self, each: Followed, code: ErrorCode, now_ms: int) -> None:
        if code is ErrorCode.FENCED_LEADER_EPOCH:
            # There is a newer leader epoch, which the metadata will bring.
            each.failed = True
        else:
            self._back_off(each, now_ms)

    def _back_off(self, each: Followed, now_ms: int) -> None:
        self.failures += 1
        most = self._limits.backoff_ms
        each.resumes_ms = now_ms + min(most, max(1, most // FIRST_BACKOFF_PART) << min(each.failures, 16))
        each.failures += 1

    def _by_name(self, topic: str, index: int) -> Followed | None:
        return next(
            (each for (_, number), each in self._followed.items() if number == index and each.partition.partition.topic == topic), None
        )
