"""Several quorum nodes in memory: a network that loses and delays messages, disks that lose
unsynced data, and an observer that checks the invariants.

Everything follows from a seed. Time jumps from one event to the next.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, Uuid
from barnabas.quorum.core.control_history import BOOTSTRAP_OFFSET, ControlChange, KRaftVersionAt, VotersAt, control_changes
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
    LogTrimmed,
    Requested,
    SnapshotInstalled,
    Started,
    Stop,
    Tick,
    Truncated,
)
from barnabas.quorum.core.in_flight import Address
from barnabas.quorum.core.log_outline import EpochStart, LogOutline, OffsetAndEpoch
from barnabas.quorum.core.node import QuorumNode
from barnabas.quorum.core.quorum import Identity
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.settings import QuorumSettings
from barnabas.quorum.core.voters import SUPPORTED_KRAFT_VERSIONS, Endpoint, ReplicaKey, Voter, VoterSet, configured_voters
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import assign_offset
from barnabas.records.batches import walk
from barnabas.records.control_batch import build_control_batch
from barnabas.records.record import Record
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse, SupportedFeatureKey

CLUSTER = "a-cluster"
LISTENER = "CONTROLLER"
PORT = 9093
FETCH_BYTES = 400  # Small, so that a log needs several fetches.
SNAPSHOT_BYTES = 64


class SeededEntropy:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def bytes(self, size: int) -> bytes:
        return self._chance.randbytes(size)

    def below(self, bound: int) -> int:
        return self._chance.randrange(bound)


@dataclass(frozen=True, slots=True)
class Batch:
    base_offset: int
    end_offset: int
    epoch: int
    data: bytes


@dataclass(slots=True)
class SimulatedDisk:
    """The data that survives a crash: synced batches, and by chance some more."""

    state: QuorumState = field(default_factory=QuorumState)
    batches: list[Batch] = field(default_factory=list)
    synced_offset: int = 0
    start_offset: int = 0
    # The prefix of the log that a snapshot stands for, with the control records in it.
    snapshots: dict[OffsetAndEpoch, tuple[tuple[bytes, ...], tuple[ControlChange, ...]]] = field(default_factory=dict)
    unfinished: bytearray = field(default_factory=bytearray)

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start_offset

    def outline(self) -> LogOutline:
        epochs: list[EpochStart] = []
        for batch in self.batches:
            if not epochs or batch.epoch > epochs[-1].epoch:
                epochs.append(EpochStart(batch.epoch, batch.base_offset))
        return LogOutline(self.start_offset, self.end_offset, epochs, sorted(self.snapshots), self.end_offset)

    def changes(self) -> list[ControlChange]:
        latest = max(self.snapshots, default=None)
        changes: list[ControlChange] = list(self.snapshots[latest][1]) if latest is not None else []
        for batch in self.batches:
            if latest is None or batch.base_offset >= latest.offset:
                for _, header in walk(batch.data):
                    changes += control_changes(header, batch.data)
        return changes

    def prefix(self, offset: int) -> tuple[bytes, ...]:
        """All batches below ``offset``, including those of the first snapshot."""
        latest = max((each for each in self.snapshots if each.offset <= offset), default=None)
        before = self.snapshots[latest][0] if latest is not None else ()
        start = latest.offset if latest is not None else 0
        return before + tuple(batch.data for batch in self.batches if start <= batch.base_offset < offset)

    def crash(self, chance: random.Random) -> None:
        unsynced = [batch for batch in self.batches if batch.end_offset > self.synced_offset]
        kept = chance.randint(0, len(unsynced))
        if kept < len(unsynced):
            self.batches = self.batches[: len(self.batches) - len(unsynced) + kept]
        latest = max(self.snapshots, default=None)
        if latest is not None and self.end_offset < latest.offset:
            # Snapshots are synced when they are written and an observer's log is not, so the log
            # starts again after the snapshot.
            self.batches, self.start_offset = [], latest.offset
        self.synced_offset = self.end_offset


class World:
    def __init__(
        self,
        seed: int,
        *,
        voters: int = 3,
        observers: int = 0,
        loss: float = 0.0,
        dynamic: int = 0,
        auto_join: bool = False,
    ) -> None:
        """The bootstrap checkpoint holds ``dynamic`` of the voters, and the others start without
        any. With 0 the voters are configured."""
        self.chance = random.Random(seed)
        self.now_ms = 1_000
        self.loss = loss
        self.cut: set[tuple[int, int]] = set()
        self.leaders: dict[int, int] = {}
        self.committed: list[bytes] = []
        self.committed_offset = 0
        self.complaints: list[str] = []
        self.accepted: list[tuple[int, bytes]] = []
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        ids = range(1, voters + 1)
        configured = configured_voters(LISTENER, [(NodeId(each), f"n{each}", PORT) for each in ids]) if not dynamic else VoterSet()
        self.nodes = {each: SimulatedNode(self, each, configured, may_vote=True, auto_join=auto_join) for each in ids}
        for each in range(voters + 1, voters + observers + 1):
            self.nodes[each] = SimulatedNode(self, each, configured, may_vote=False)
        if dynamic:
            first = VoterSet(self.nodes[each].as_voter for each in range(1, dynamic + 1))
            changes = (KRaftVersionAt(BOOTSTRAP_OFFSET, 1), VotersAt(BOOTSTRAP_OFFSET, first))
            for each in range(1, dynamic + 1):
                self.nodes[each].disk.snapshots[OffsetAndEpoch(0, 0)] = ((), changes)

    def start(self) -> None:
        for node in self.nodes.values():
            node.start()

    # -- time ---------------------------------------------------------------------------------

    def after(self, delay_ms: int, deed: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._order, deed))

    def run(self, duration_ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Whether ``until`` became true."""
        end_ms = self.now_ms + duration_ms
        while True:
            if until is not None and until():
                return True
            deadlines = [(node.core.deadline_ms, node) for node in self.nodes.values() if node.core is not None]
            next_deadline = min((deadline for deadline, _ in deadlines), default=end_ms + 1)
            next_deed = self._heap[0][0] if self._heap else end_ms + 1
            now_ms = min(next_deadline, next_deed)
            if now_ms > end_ms:
                self.now_ms = end_ms
                return until is not None and until()
            self.now_ms = max(self.now_ms, now_ms)
            if next_deed <= next_deadline:
                heapq.heappop(self._heap)[2]()
            else:
                min(deadlines, key=lambda pair: (pair[0], pair[1].node_id))[1].step(Tick())

    # -- the network --------------------------------------------------------------------------

    def send(self, sender: SimulatedNode, effect: Send) -> None:
        target = self.nodes.get(int(effect.host[1:]))
        life = sender.life
        settled = [False]

        def settle(response: Any) -> None:
            if not settled[0] and sender.life == life:
                settled[0] = True
                sender.step(Answered(effect.request_id, response))

        def arrive() -> None:
            if target is None or target.core is None:
                self.after(self._delay(), lambda: settle(ErrorCode.NETWORK_EXCEPTION))
            elif isinstance(effect.request, ApiVersionsRequest):
                features = [SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)]
                settle(ApiVersionsResponse(error_code=0, api_keys=[], supported_features=features))
            else:
                target.serve(effect.request, lambda response: self._travel(target, sender, lambda: settle(response)))

        self.after(effect.timeout_ms, lambda: settle(ErrorCode.REQUEST_TIMED_OUT))
        if target is not None:
            self._travel(sender, target, arrive)

    def _travel(self, source: SimulatedNode, target: SimulatedNode, arrive: Callable[[], None]) -> None:
        if (source.node_id, target.node_id) in self.cut or self.chance.random() < self.loss:
            return
        self.after(self._delay(), arrive)

    def _delay(self) -> int:
        return self.chance.randint(1, 20)

    def isolate(self, node_id: int) -> None:
        self.cut |= {(node_id, other) for other in self.nodes} | {(other, node_id) for other in self.nodes}

    def heal(self) -> None:
        self.cut.clear()
        self.loss = 0.0

    # -- invariants ---------------------------------------------------------------------------

    @property
    def leader(self) -> SimulatedNode | None:
        leading = [node for node in self.nodes.values() if node.core is not None and node.core.leading]
        return max(leading, key=lambda node: node.core.epoch if node.core else 0, default=None)

    def saw_leader(self, epoch: int, node_id: int) -> None:
        assert self.leaders.setdefault(epoch, node_id) == node_id, f"two leaders in epoch {epoch}"

    def saw_commit(self, node: SimulatedNode, high_watermark: int) -> None:
        """All nodes agree about the records that they call committed."""
        prefix = list(node.disk.prefix(high_watermark))
        shared = min(len(prefix), len(self.committed))
        assert prefix[:shared] == self.committed[:shared], f"node {node.node_id} commits something else below {high_watermark}"
        if len(prefix) > len(self.committed):
            self.committed = prefix
        self.committed_offset = max(self.committed_offset, high_watermark)

    def agreed(self) -> bool:
        """Every node that is up has every record."""
        up = [node for node in self.nodes.values() if node.core is not None]
        return self.leader is not None and len({(node.core.log_end_offset, node.core.high_watermark) for node in up if node.core}) == 1

    def append(self, payload: bytes) -> bool:
        leader = self.leader
        if leader is None or leader.core is None:
            return False
        leader.step(Append((payload,)))
        return True


class SimulatedNode:
    def __init__(self, world: World, node_id: int, configured: VoterSet, *, may_vote: bool, auto_join: bool = False) -> None:
        self.world = world
        self.node_id = node_id
        self.key = ReplicaKey(NodeId(node_id), Uuid(bytes([node_id]) * 16))
        self.endpoints: tuple[Endpoint, ...] = (Endpoint(LISTENER, f"n{node_id}", PORT),)
        self.as_voter = Voter(self.key, self.endpoints, SUPPORTED_KRAFT_VERSIONS)
        self.disk = SimulatedDisk()
        self.core: QuorumNode | None = None
        self.life = 0
        self.effects: list[Effect] = []
        self._configured = configured
        self._may_vote = may_vote
        self._auto_join = auto_join
        self._replies: dict[int, Callable[[Any], None]] = {}
        self._tokens = 0
        self._flushing = False
        self._wanted = Flush(0)

    def start(self) -> None:
        self.life += 1
        self._flushing = False
        self.core = QuorumNode(
            Identity(
                self.key,
                CLUSTER,
                LISTENER,
                self.endpoints,
                may_vote=self._may_vote,
                bootstrap=(Address("n1", PORT), Address("n2", PORT)),
            ),
            self._configured,
            self.disk.state,
            QuorumSettings(fetch_max_bytes=FETCH_BYTES, fetch_snapshot_max_bytes=SNAPSHOT_BYTES, auto_join=self._auto_join),
            SeededEntropy(self.world.chance),
        )
        self.step(Started(self.disk.outline(), self.disk.changes()))

    def crash(self) -> None:
        self.core = None
        self.life += 1
        self._replies.clear()
        self.disk.crash(self.world.chance)

    def lose_disk(self) -> None:
        """The new disk has another directory id."""
        self.disk = SimulatedDisk()
        self.key = ReplicaKey(self.key.node_id, Uuid(bytes([self.node_id + 100]) * 16))

    def stop(self) -> None:
        self.step(Stop())

    def serve(self, request: Any, reply: Callable[[Any], None]) -> None:
        self._tokens += 1
        self._replies[self._tokens] = reply
        self.step(Requested(self._tokens, request, 0x7FFF))

    def ask(self, request: Any) -> list[Any]:
        """The list that receives the answer."""
        answers: list[Any] = []
        self.serve(request, answers.append)
        return answers

    def step(self, event: Event) -> None:
        life = self.life
        if self.core is None:
            return
        for effect in self.core.step(event, self.world.now_ms):
            self.perform(effect)
            if self.life != life:
                return

    def perform(self, effect: Effect) -> None:
        world, disk = self.world, self.disk
        self.effects.append(effect)
        match effect:
            case Persist(state):
                assert state.epoch >= disk.state.epoch
                disk.state = state
            case WriteControl(epoch, base_offset, records):
                self._write(
                    build_control_batch(list(records), base_offset=0, timestamp=world.now_ms, leader_epoch=epoch), base_offset, epoch
                )
            case WriteBatch(epoch, base_offset, payloads):
                self._write(build_batch(Record(index, world.now_ms, None, each) for index, each in enumerate(payloads)), base_offset, epoch)
                world.accepted.append((base_offset, payloads[0]))
            case WriteFetched(base_offset, batches):
                assert base_offset == disk.end_offset
                for position, header in walk(batches):
                    data = bytes(batches[position : position + header.size_bytes])
                    disk.batches.append(Batch(header.base_offset, header.last_offset + 1, header.leader_epoch, data))
            case Truncate(end_offset):
                disk.batches = [batch for batch in disk.batches if batch.end_offset <= end_offset]
                disk.synced_offset = min(disk.synced_offset, disk.end_offset)
                self.step(Truncated(disk.end_offset))
            case Flush():
                self._wanted = effect
                self._flush()
            case Send():
                world.send(self, effect)
            case Reply(token, response):
                self._reply(token, response)
            case ReplyWithRecords(token, response, offset, size_bytes_max):
                data = b"".join(batch.data for batch in disk.batches if batch.end_offset > offset)
                first = next((len(batch.data) for batch in disk.batches if batch.end_offset > offset), 0)
                response.responses[0].partitions[0].records = data[: max(size_bytes_max, first)]
                self._reply(token, response)
            case ReplyWithSnapshot(token, response, snapshot, position, size_bytes_max):
                whole = repr(snapshot).encode() * 5
                piece = response.topics[0].partitions[0]
                piece.size, piece.position = len(whole), position
                piece.unaligned_records = whole[position : position + size_bytes_max]
                self._reply(token, response)
            case WriteSnapshotPiece(_, position, data):
                assert position in (0, len(disk.unfinished))
                disk.unfinished = bytearray() if position == 0 else disk.unfinished
                disk.unfinished += data
            case InstallSnapshot(snapshot):
                self._install(snapshot)
            case BecameLeader(epoch, _):
                world.saw_leader(epoch, self.node_id)
            case Committed(high_watermark):
                world.saw_commit(self, high_watermark)
            case Complain(problem):
                world.complaints.append(problem)
            case Resigned() | LeaderKnown():
                pass

    def _write(self, batch: bytearray, base_offset: int, epoch: int) -> None:
        assert base_offset == self.disk.end_offset
        assign_offset(batch, base_offset, epoch)
        ((_, header),) = walk(batch)
        self.disk.batches.append(Batch(base_offset, header.last_offset + 1, epoch, bytes(batch)))

    def _install(self, snapshot: OffsetAndEpoch) -> None:
        disk = self.disk
        assert bytes(disk.unfinished) == repr(snapshot).encode() * 5
        content = next(node.disk.snapshots[snapshot] for node in self.world.nodes.values() if snapshot in node.disk.snapshots)
        disk.snapshots = {snapshot: content}
        disk.batches = []
        disk.start_offset = disk.synced_offset = snapshot.offset
        self.step(SnapshotInstalled(snapshot, content[1]))
        self.world.saw_commit(self, snapshot.offset)

    def snapshot(self, *, trim: bool) -> None:
        """A snapshot of the committed records; ``trim`` drops the log before it."""
        core, disk = self.core, self.disk
        if core is None or core.high_watermark <= max((each.offset for each in disk.snapshots), default=0):
            return
        offset = core.high_watermark
        epoch = next(batch.epoch for batch in reversed(disk.batches) if batch.end_offset <= offset)
        version, voters = core.quorum.history.at(offset - 1)
        changes: list[ControlChange] = [KRaftVersionAt(offset - 1, version)] if version else []
        changes += [VotersAt(offset - 1, voters.voters)] if voters is not None else []
        disk.snapshots[OffsetAndEpoch(offset, epoch)] = (disk.prefix(offset), tuple(changes))
        if trim:
            disk.snapshots = {max(disk.snapshots): disk.snapshots[max(disk.snapshots)]}
            disk.batches = [batch for batch in disk.batches if batch.base_offset >= offset]
            disk.start_offset = offset
        self.step(LogTrimmed(disk.start_offset, sorted(disk.snapshots)))

    def _reply(self, token: int, response: Any) -> None:
        reply = self._replies.pop(token, None)
        if reply is not None:
            reply(response)

    def _flush(self) -> None:
        if self._flushing:
            return
        self._flushing = True
        life, end_offset, generation = self.life, self.disk.end_offset, self._wanted.generation

        def done() -> None:
            if self.life != life:
                return
            self._flushing = False
            if generation == self._wanted.generation and self.core is not None and generation == self.core.quorum.log.generation:
                self.disk.synced_offset = max(self.disk.synced_offset, min(end_offset, self.disk.end_offset))
            self.step(Flushed(end_offset, generation))
            if self.life == life and (end_offset < self._wanted.end_offset or generation != self._wanted.generation):
                self._flush()

        self.world.after(self.world.chance.randint(0, 5), done)
