"""One quorum node of a script: the core, a directory, and a clock of its own. It performs the
effects and words them for the transcript.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, Uuid
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import assign_offset
from barnabas.records.control_batch import build_control_batch
from barnabas.records.record import Record
from tests.scenarios.quorum.core import control_history, effects, events, in_flight, log_outline, node, quorum, roles, settings, voters
from tests.scenarios.quorum.storage import MetadataDirectory, Snapshot, batches_in
from tests.scenarios.quorum.wording import deed_of, role_of

CLUSTER_ID = "a-cluster"
LISTENER = "CONTROLLER"
PORT = 9093
START_MS = 10_000
# Requests arrive in the newest version that there is.
NEWEST = 0x7FFF
SNAPSHOT_BYTES = 150
# Three pieces make a snapshot.
PIECE_BYTES = 64
# Ticks until a role must have changed, of a node whose clock runs on alone.
TICKS_MAX = 1000


class FixedEntropy:
    """No chance: timeouts grow with the node's id, so that a script knows which fires first."""

    def __init__(self, node_id: int) -> None:
        self._tenths = node_id - 1

    def bytes(self, size: int) -> bytes:
        return bytes(size)

    def below(self, bound: int) -> int:
        return bound * self._tenths // 10


class ScriptedCluster(Protocol):
    """The rest of the script, as a node needs it."""

    def say(self, line: str) -> None: ...

    def send(self, sender: ScriptedNode, effect: effects.Send) -> None: ...

    def reply(self, sender: ScriptedNode, token: int, response: Any) -> None: ...

    def snapshot(self, snapshot: log_outline.OffsetAndEpoch) -> Snapshot: ...

    @property
    def bootstrap(self) -> tuple[in_flight.Address, ...]: ...


@dataclass(slots=True)
class Timeout:
    """The time at which the sender gives up a request that is in flight."""

    request_id: int
    due_ms: int


class ScriptedNode:
    def __init__(
        self, cluster: ScriptedCluster, node_id: int, configured: voters.VoterSet, *, may_vote: bool, auto_join: bool, fetch_bytes: int
    ) -> None:
        self.node_id = node_id
        self.host = f"n{node_id}"
        self.directory = MetadataDirectory()
        self.core: node.QuorumNode | None = None
        self.now_ms = START_MS
        self.life = 0
        self.slow = False
        self.timeouts: list[Timeout] = []
        self._cluster = cluster
        self._configured = configured
        self._may_vote = may_vote
        self._settings = settings.QuorumSettings(fetch_max_bytes=fetch_bytes, fetch_snapshot_max_bytes=PIECE_BYTES, auto_join=auto_join)
        self._lost_directories = 0
        self._flush: effects.Flush | None = None
        self._shown_role = ""

    @property
    def key(self) -> voters.ReplicaKey:
        return voters.ReplicaKey(NodeId(self.node_id), Uuid(bytes([self.node_id + 100 * self._lost_directories]) * 16))

    @property
    def endpoints(self) -> tuple[voters.Endpoint, ...]:
        return (voters.Endpoint(LISTENER, self.host, PORT),)

    @property
    def as_voter(self) -> voters.Voter:
        return voters.Voter(self.key, self.endpoints, voters.SUPPORTED_KRAFT_VERSIONS)

    @property
    def running(self) -> node.QuorumNode:
        assert self.core is not None, f"node {self.node_id} is down"
        return self.core

    @property
    def follows(self) -> bool:
        """A voter that hears from a leader."""
        core = self.core
        return core is not None and isinstance(core.quorum.role, roles.Follower) and core.quorum.is_voter

    # -- starting and stopping ----------------------------------------------------------------

    def start(self) -> None:
        assert self.core is None, f"node {self.node_id} runs already"
        self.life += 1
        identity = quorum.Identity(
            self.key, CLUSTER_ID, LISTENER, self.endpoints, may_vote=self._may_vote, bootstrap=self._cluster.bootstrap
        )
        self.core = node.QuorumNode(identity, self._configured, self.directory.state, self._settings, FixedEntropy(self.node_id))
        self._shown_role = ""
        self.step(events.Started(self.directory.outline(), self.directory.changes()))

    def crash(self) -> None:
        self.core = None
        self.life += 1
        self.timeouts = []
        self._flush = None
        self.directory.crash()

    def lose_directory(self) -> None:
        """The new directory has another id, because it is not the replica that gave earlier
        votes."""
        self.directory = MetadataDirectory()
        self._lost_directories += 1

    # -- time --------------------------------------------------------------------------------------

    @property
    def next_ms(self) -> int:
        return min([self.running.deadline_ms, *(each.due_ms for each in self.timeouts)])

    def advance(self, now_ms: int) -> None:
        self.now_ms = max(self.now_ms, now_ms)
        for each in [each for each in self.timeouts if each.due_ms <= self.now_ms]:
            self.timeouts.remove(each)
            self.step(events.Answered(each.request_id, ErrorCode.REQUEST_TIMED_OUT))
        if self.running.deadline_ms <= self.now_ms:
            self.step(events.Tick())

    def run_until_role_changes(self) -> None:
        before = self._shown_role
        for _ in range(TICKS_MAX):
            self.advance(self.next_ms)
            if self._shown_role != before:
                return
        raise AssertionError(f"node {self.node_id} stays {before}, however long it waits")

    # -- what happens ------------------------------------------------------------------------------

    def step(self, event: events.Event) -> None:
        core, life = self.running, self.life
        performed = core.step(event, self.now_ms)
        role = role_of(core)
        if role != self._shown_role:
            self._shown_role = role
            self.say(role)
        for effect in performed:
            self._perform(effect)
            if self.life != life:
                return
        self._sync()

    def say(self, line: str) -> None:
        self._cluster.say(f"{self.node_id}: {line}")

    def _perform(self, effect: effects.Effect) -> None:
        directory = self.directory
        deed = deed_of(effect)
        if deed is not None:
            self.say(deed)
        match effect:
            case effects.Persist(state):
                assert state.epoch >= directory.state.epoch, "an epoch never falls"
                directory.state = state
            case effects.WriteControl(epoch, base_offset, records):
                self._write(build_control_batch(list(records), base_offset=0, timestamp=START_MS, leader_epoch=epoch), base_offset, epoch)
            case effects.WriteBatch(epoch, base_offset, payloads):
                self._write(build_batch(Record(index, START_MS, None, each) for index, each in enumerate(payloads)), base_offset, epoch)
            case effects.WriteFetched(_, batches):
                directory.append(batches_in(memoryview(batches)))
            case effects.Truncate(end_offset):
                directory.truncate(end_offset)
                self.step(events.Truncated(directory.end_offset))
            case effects.Flush():
                self._flush = effect
            case effects.Send():
                self.timeouts.append(Timeout(effect.request_id, self.now_ms + effect.timeout_ms))
                self._cluster.send(self, effect)
            case effects.Reply(token, response):
                self._cluster.reply(self, token, response)
            case effects.ReplyWithRecords(token, response, offset, size_bytes_max):
                response.responses[0].partitions[0].records = directory.read(offset, size_bytes_max)
                self._cluster.reply(self, token, response)
            case effects.ReplyWithSnapshot(token, response, snapshot, position, size_bytes_max):
                data, piece = directory.snapshots[snapshot].data, response.topics[0].partitions[0]
                piece.size, piece.position = len(data), position
                piece.unaligned_records = data[position : position + size_bytes_max]
                self._cluster.reply(self, token, response)
            case effects.InstallSnapshot(snapshot):
                self._install(snapshot)

    def _write(self, batch: bytearray, base_offset: int, epoch: int) -> None:
        assign_offset(batch, base_offset, epoch)
        self.directory.append(batches_in(memoryview(batch)))

    def _install(self, snapshot: log_outline.OffsetAndEpoch) -> None:
        content = self._cluster.snapshot(snapshot)
        if content.damaged:
            self.step(events.SnapshotRefused(snapshot))
            return
        self.directory.snapshots = {snapshot: content}
        self.directory.restart_at(snapshot.offset)
        self.step(events.SnapshotInstalled(snapshot, content.changes))

    # -- the disk ----------------------------------------------------------------------------------

    def _sync(self) -> None:
        if not self.slow:
            self.flush()

    def flush(self) -> None:
        flush, self._flush = self._flush, None
        if flush is not None and self.core is not None:
            self.directory.synced_offset = min(flush.end_offset, self.directory.end_offset)
            self.step(events.Flushed(flush.end_offset, flush.generation))

    def take_snapshot(self, *, keep: bool, damaged: bool) -> log_outline.OffsetAndEpoch:
        """A snapshot of the committed records."""
        core, directory = self.running, self.directory
        offset = core.high_watermark
        epoch = next(batch.epoch for batch in reversed(directory.batches) if batch.end_offset <= offset)
        version, latest = core.quorum.history.at(offset - 1)
        changes: list[control_history.ControlChange] = []
        if version and latest is not None:
            changes = [control_history.KRaftVersionAt(offset - 1, version), control_history.VotersAt(offset - 1, latest.voters)]
        made = log_outline.OffsetAndEpoch(offset, epoch)
        directory.snapshots[made] = Snapshot(bytes(SNAPSHOT_BYTES), tuple(changes), damaged)
        if not keep:
            directory.snapshots = {made: directory.snapshots[made]}
            directory.batches = [batch for batch in directory.batches if batch.base_offset >= offset]
            directory.start_offset = offset
        self.step(events.LogTrimmed(directory.start_offset, sorted(directory.snapshots)))
        return made
