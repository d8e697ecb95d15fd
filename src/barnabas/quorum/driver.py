"""Performs the effects of the quorum's state machine, and reports commits to its listener.

Flushes run on a worker thread, one at a time; batches appended meanwhile share the next one.
Everything else happens on the loop's thread. Effects are performed in the order in which the core
returned them, also those of steps taken inside a callback of an earlier effect. A disk failure
under the metadata log stops the node: it cannot do anything without that log.

A timer that fires late shows that this node was busy or paused, and has not read its sockets: the
responses that the core waits for may have arrived in time. So the driver lets the loop read them
before it reports the timeout to the core. Otherwise a voter that was paused would depose a leader
that sent everything in time.

When a request to the leader finds no connection, the driver asks the leader's machine whether a
process still listens there. If not, the core need not wait for its timeout.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

from barnabas.env.clock import Clock
from barnabas.env.disk import out_of_room
from barnabas.metadata.snapshot import SnapshotId
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, ZERO_UUID
from barnabas.model.promise import Promise
from barnabas.network.peer_ports import PeersPort
from barnabas.quorum.core.control_history import kraft_version_value, voters_value
from barnabas.quorum.core.effects import (
    BecameLeader,
    Committed,
    Complain,
    Effect,
    Flush,
    InstallSnapshot,
    LeaderKnown,
    Persist,
    Reply,
    ReplyWithRecords,
    ReplyWithSnapshot,
    Resigned,
    Send,
    Truncate,
    WriteBatch,
    WriteControl,
    WriteFetched,
    WriteSnapshotPiece,
)
from barnabas.quorum.core.events import (
    Answered,
    Append,
    Event,
    Flushed,
    LeaderGone,
    LogTrimmed,
    Requested,
    Resign,
    SnapshotInstalled,
    SnapshotRefused,
    Started,
    Stop,
    Tick,
    Truncated,
    UpgradeKRaftVersion,
)
from barnabas.quorum.core.node import QuorumNode
from barnabas.quorum.core.progress import ReplicaProgress
from barnabas.quorum.core.quorum import NEVER_MS
from barnabas.quorum.core.voter_changes import upgrade_problem
from barnabas.quorum.core.voters import DYNAMIC_KRAFT_VERSION
from barnabas.quorum.description import describe_quorum
from barnabas.quorum.listener import QuorumListener
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.quorum.status import QuorumReplica, QuorumStatus
from barnabas.records.control_batch import ControlType
from barnabas.storage.background_sync import sync_in_background
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
from barnabas.wire.metadata_records import MetadataRecord, encode_metadata_record
from barnabas.wire.tagged_fields import MalformedMessage

# The wait of a stopping leader for a successor; Kafka's controllers wait as long.
HAND_OVER_MS_MAX = 5_000
# The interval between attempts to write to a full disk. Meanwhile this node looks like one with a
# slow disk, and the others may elect another leader.
ROOM_RETRY_SECONDS = 0.5
# A timer that fires later than this does so in a loop that was busy or paused. Election timeouts
# are several times as long.
LATE_MS = 200
# The time for reading sockets after a pause, before the timers count.
DRAIN_MS = 50
# The same problem is reported no more often than this.
COMPLAINT_INTERVAL_MS = 10_000
# Callers inside this process understand every version.
NEWEST_VERSION = 0x7FFF
# A fetch that waits at the leader must not delay a vote on the same connection.
FETCH_PURPOSE = "metadata-fetch"
QUORUM_PURPOSE = "quorum"


# Effects that a full disk can delay. They can be repeated after being performed in part.
_WRITES = (Persist, WriteControl, WriteBatch, WriteFetched, Truncate, WriteSnapshotPiece)


@dataclass(frozen=True, slots=True)
class QuorumLeader:
    """The leader that brokers send their requests to."""

    node_id: int
    epoch: int
    endpoint: tuple[str, int] | None


class QuorumDriver:
    def __init__(
        self,
        core: QuorumNode,
        log: MetadataLog,
        peers: PeersPort,
        clock: Clock,
        executor: Executor,
        *,
        dials_leader: bool = True,
    ) -> None:
        """``dials_leader``: whether this node asks the machine of a leader that does not answer
        whether its process still listens."""
        self._dials_leader = dials_leader
        self._core = core
        self._log = log
        self._peers = peers
        self._clock = clock
        self._executor = executor
        self._queue: deque[Effect] = deque()
        self._performing = False
        self._answers: dict[int, Promise[Any]] = {}
        self._next_token = 0
        self._flushing = False
        # Set while the disk is full and all effects wait.
        self._room_timer: asyncio.TimerHandle | None = None
        self._wanted = Flush(0)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = NEVER_MS
        self._stopped: Promise[None] | None = None
        self._closed = False
        self._last_problem = ""
        self._next_complaint_ms = 0

    # -- calls from the rest of the node -----------------------------------------------------------

    def start(self, listener: QuorumListener) -> None:
        self._listener = listener
        self._step(Started(self._log.outline(), self._log.control_changes()))

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """Append one atomic batch; returns the end offset after it.

        The batch counts once the listener's ``committed`` has reached that offset.
        """
        self._step(Append(tuple(encode_metadata_record(record) for record in records)))
        return self._core.log_end_offset

    def serve(self, request: Any, version: int = NEWEST_VERSION, listener_name: str | None = None) -> Promise[Any]:
        """The response to one of the quorum's own requests, which arrived on this listener."""
        if isinstance(request, DescribeQuorumRequest):
            return Promise.kept(describe_quorum(self.status(), request, version))
        answer: Promise[Any] = Promise()
        self._next_token += 1
        self._answers[self._next_token] = answer
        self._step(Requested(self._next_token, request, version, listener_name))
        return answer

    def resign(self, epoch: int) -> None:
        self._step(Resign(epoch))

    def stop(self) -> Promise[None]:
        """Resolves when another node leads, no other node can lead, or HAND_OVER_MS_MAX is over.

        The driver continues to answer until :meth:`close`.
        """
        if self._stopped is None:
            self._stopped = Promise()
            self._step(Stop())
            if not self._stopped.done and not self._closed:
                asyncio.get_running_loop().call_later(HAND_OVER_MS_MAX / 1000, self._stopped_waiting)
        return self._stopped

    def close(self) -> None:
        """Stop taking steps, so that the log may be closed."""
        self._closed = True
        for timer in (self._timer, self._room_timer):
            if timer is not None:
                timer.cancel()
        self._stopped_waiting()

    def snapshots_changed(self) -> None:
        """A snapshot was written or removed, or the log start offset advanced."""
        self._step(LogTrimmed(self._log.start_offset, self._log.snapshot_ends()))

    def control_records_at(self, offset: int) -> list[tuple[ControlType, bytes]]:
        """The control records of a snapshot that ends at ``offset``: kraft.version and voters."""
        version, voters = self._core.quorum.history.at(offset)
        if version < DYNAMIC_KRAFT_VERSION or voters is None:
            return []
        return [(ControlType.KRAFT_VERSION, kraft_version_value(version)), (ControlType.KRAFT_VOTERS, voters_value(voters.voters))]

    def kraft_upgrade_problem(self, version: int) -> str | None:
        """The reason why kraft.version cannot be raised to ``version``, in a sentence."""
        return upgrade_problem(self._core.quorum, version)

    def upgrade_kraft_version(self, version: int) -> None:
        self._step(UpgradeKRaftVersion(version))

    @property
    def kraft_version(self) -> int:
        return self._core.kraft_version

    @property
    def end_offset(self) -> int:
        return self._core.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self._core.high_watermark

    @property
    def leading(self) -> bool:
        return self._core.leading

    @property
    def epoch(self) -> int:
        return self._core.epoch

    @property
    def leader(self) -> QuorumLeader | None:
        if self._core.leader_id < 0:
            return None
        return QuorumLeader(self._core.leader_id, self._core.epoch, self._core.leader_address)

    def status(self) -> QuorumStatus:
        core = self._core
        # The core has monotonic times; users read wall clock times.
        wall_ms, elapsed_ms = self._clock.wall_ms(), self._clock.monotonic_ms()
        voters, observers = core.replicas(elapsed_ms)
        return QuorumStatus(
            leader_id=core.leader_id,
            leader_epoch=core.epoch,
            high_watermark=core.told_high_watermark,
            # Only dynamic voters are identified by their directories, so those of configured
            # voters are not shown.
            voters=tuple(_seen(each, wall_ms - elapsed_ms, with_directory=core.quorum.history.dynamic) for each in voters),
            observers=tuple(_seen(each, wall_ms - elapsed_ms) for each in observers),
            leading=core.leading,
            nodes={voter.key.node_id: voter.endpoints for voter in core.voters.values()},
        )

    # -- steps -------------------------------------------------------------------------------------

    def _step(self, event: Event) -> None:
        """Take a step of the core, and perform its effects.

        A failed effect stops the node, since the core assumes that it happened; promises that
        depend on it stay unresolved.
        """
        if self._closed:
            return
        self._queue.extend(self._core.step(event, self._clock.monotonic_ms()))
        self._perform_all()

    def _perform_all(self) -> None:
        if self._performing or self._room_timer is not None:
            return
        self._performing = True
        try:
            while self._queue and not self._closed and self._room_timer is None:
                self._perform_if_room(self._queue.popleft())
        # The node cannot continue without committed records that cannot be read.
        except (OSError, MalformedMessage) as failure:
            self._halt(failure)
        finally:
            self._performing = False
        if self._stopped is not None and self._core.handed_over:
            self._stopped_waiting()
        self._set_timer()

    def _perform_if_room(self, effect: Effect) -> None:
        """On a full disk no effect is dropped: it is performed when there is room, before the
        effects after it."""
        try:
            self._perform(effect)
        except OSError as error:
            if not isinstance(effect, _WRITES) or not out_of_room(error):
                raise
            self._complain(f"the metadata log waits for room on its disk: {error}")
            self._queue.appendleft(effect)
            self._room_timer = asyncio.get_running_loop().call_later(ROOM_RETRY_SECONDS, self._try_again)

    def _try_again(self) -> None:
        self._room_timer = None
        if not self._closed:
            self._perform_all()

    def _halt(self, failure: BaseException) -> None:
        self._closed = True
        self._listener.failed(failure)

    def _perform(self, effect: Effect) -> None:
        now_ms = self._clock.wall_ms()
        match effect:
            case Persist(state):
                voters = None if self._core.quorum.history.dynamic else list(self._core.voters)
                self._log.write_quorum_state(state, voters)
                if state.voted_id == self._core.node_id and state.leader_id == NO_NODE:
                    self._listener.became_candidate(state.epoch)
            case WriteControl(epoch, base_offset, records):
                assert base_offset == self._log.end_offset
                self._log.write_control(records, epoch=epoch, now_ms=now_ms)
            case WriteBatch(epoch, base_offset, payloads):
                assert base_offset == self._log.end_offset
                self._log.write_batch(payloads, epoch=epoch, now_ms=now_ms)
            case WriteFetched(base_offset, batches):
                # The log may end above it, if there was room for some of the batches only.
                assert base_offset <= self._log.end_offset
                self._log.write_fetched(batches, now_ms=now_ms)
            case Truncate(end_offset):
                self._step(Truncated(self._log.truncate(end_offset)))
            case Flush():
                self._wanted = effect
                self._flush()
            case Send(request_id, host, port, request, timeout_ms):
                purpose = FETCH_PURPOSE if isinstance(request, FetchRequest | FetchSnapshotRequest) else QUORUM_PURPOSE
                sent = self._peers.at(host, port, purpose).send(request, timeout_ms=timeout_ms)
                sent.then(lambda response: self._answered(request_id, response, (host, port)))
            case Reply(token, response):
                self._answer(token, response)
            case ReplyWithRecords(token, response, offset, size_bytes_max):
                response.responses[0].partitions[0].records = self._log.read(offset, size_bytes_max=size_bytes_max)
                self._answer(token, response)
            case ReplyWithSnapshot():
                self._answer_with_snapshot(effect)
            case WriteSnapshotPiece(snapshot, position, data):
                self._log.write_snapshot_piece(snapshot, position, data)
            case InstallSnapshot(snapshot):
                changes = self._log.install_snapshot(snapshot)
                if changes is None:
                    self._step(SnapshotRefused(snapshot))
                else:
                    self._step(SnapshotInstalled(snapshot, changes))
                    self._listener.snapshot_installed(SnapshotId(*snapshot))
            case BecameLeader(epoch, epoch_start_offset):
                self._listener.became_leader(epoch, epoch_start_offset)
            case Resigned(epoch):
                self._listener.resigned(epoch)
            case Committed(high_watermark):
                self._listener.committed(high_watermark)
            case LeaderKnown():
                self._listener.leader_changed()
            case Complain(problem):
                self._complain(problem)

    def _answered(self, request_id: int, response: Any, address: tuple[str, int]) -> None:
        self._step(Answered(request_id, response))
        leader = self.leader
        if not self._dials_leader or self._closed or response is not ErrorCode.NETWORK_EXCEPTION:
            return
        if leader is not None and leader.endpoint == address:
            gone = LeaderGone(leader.node_id, leader.epoch)
            self._peers.refuses(*address).then(lambda refuses: self._step(gone) if refuses else None)

    def _complain(self, problem: str) -> None:
        """Report a problem now and then: a peer with a bug repeats it with every request."""
        now_ms = self._clock.monotonic_ms()
        if problem != self._last_problem or now_ms >= self._next_complaint_ms:
            self._last_problem, self._next_complaint_ms = problem, now_ms + COMPLAINT_INTERVAL_MS
            self._listener.misbehaved(problem)

    def _answer(self, token: int, response: Any) -> None:
        promise = self._answers.pop(token)
        promise.resolve(response)

    def _answer_with_snapshot(self, effect: ReplyWithSnapshot) -> None:
        found = self._log.read_snapshot_piece(effect.snapshot, effect.position, size_bytes_max=effect.size_bytes_max)
        partition = effect.response.topics[0].partitions[0]
        if found is None:
            partition.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
        elif effect.position >= found[0]:
            partition.error_code = ErrorCode.POSITION_OUT_OF_RANGE
        else:
            partition.size, partition.position, partition.unaligned_records = found[0], effect.position, found[1]
        self._answer(effect.token, effect.response)

    # -- the disk ----------------------------------------------------------------------------------

    def _flush(self) -> None:
        if self._flushing or self._closed:
            return
        self._flushing = True
        generation = self._wanted.generation
        end_offset, segments = self._log.flushable()
        flush = sync_in_background(self._executor, segments)
        # Without room for the indexes the rest does not count as flushed yet.
        no_room = end_offset < self._log.end_offset
        flush.add_done_callback(lambda done: self._flushed(done, Flushed(end_offset, generation), no_room=no_room))

    def _flushed(self, done: asyncio.Future[None], event: Flushed, *, no_room: bool) -> None:
        self._flushing = False
        if done.cancelled():
            return
        failure = done.exception()
        if failure is not None:
            self._halt(failure)
            return
        self._log.flushed(event.end_offset)
        self._step(event)
        if self._closed:
            return
        if no_room:
            self._complain("the indexes of the metadata log wait for room on its disk")
            asyncio.get_running_loop().call_later(ROOM_RETRY_SECONDS, self._flush)
        elif event.end_offset < self._wanted.end_offset or event.generation != self._wanted.generation:
            self._flush()

    # -- time --------------------------------------------------------------------------------------

    def _set_timer(self) -> None:
        """Move the timer only if it would fire too late; a timer that fires early is set again."""
        deadline_ms = self._core.deadline_ms
        if self._closed or deadline_ms >= min(self._timer_ms, NEVER_MS):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline_ms
        delay_ms = max(0, deadline_ms - self._clock.monotonic_ms())
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._ring)

    def _ring(self, *, drained: bool = False) -> None:
        self._timer, self._timer_ms = None, NEVER_MS
        late_ms = self._clock.monotonic_ms() - self._core.deadline_ms
        if late_ms < 0:
            self._set_timer()
        elif late_ms > LATE_MS and not drained:
            # Zero keeps the steps taken meanwhile from setting another timer.
            self._timer_ms = 0
            self._timer = asyncio.get_running_loop().call_later(DRAIN_MS / 1000, lambda: self._ring(drained=True))
        else:
            self._step(Tick())

    def _stopped_waiting(self) -> None:
        if self._stopped is not None and not self._stopped.done:
            self._stopped.resolve(None)


def _seen(replica: ReplicaProgress, to_wall_ms: int, *, with_directory: bool = True) -> QuorumReplica:
    fetched_ms, caught_up_ms = replica.last_fetch_ms, replica.last_caught_up_ms
    return QuorumReplica(
        replica.key.node_id,
        replica.key.directory_id if with_directory else ZERO_UUID,
        replica.end_offset,
        fetched_ms + to_wall_ms if fetched_ms >= 0 else -1,
        caught_up_ms + to_wall_ms if caught_up_ms >= 0 else -1,
    )
