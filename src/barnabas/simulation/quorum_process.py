"""One node of a simulated quorum: the real core over a real log, and a shell as thin as the one that real nodes have.

Between any two effects the node may die. Flushes are done in the background, one at a time, like a worker thread's: what is written
meanwhile waits for the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from barnabas.env.disk import write_atomically
from barnabas.model.ids import METADATA_PARTITION, NodeId, Uuid
from barnabas.model.promise import Promise
from barnabas.raft import effects, events
from barnabas.raft.control_history import ControlChange, control_changes
from barnabas.raft.effects import Effect
from barnabas.raft.events import Event
from barnabas.raft.log_outline import EpochStart, LogOutline
from barnabas.raft.node import QuorumNode
from barnabas.raft.quorum import Identity
from barnabas.raft.quorum_state import QUORUM_STATE, QuorumState, decode_quorum_state, encode_quorum_state
from barnabas.raft.settings import QuorumSettings
from barnabas.raft.voters import Endpoint, ReplicaKey, configured_voters
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.batches import walk
from barnabas.records.control_batch import build_control_batch
from barnabas.records.record import Record
from barnabas.records.validation import Refused
from barnabas.simulation.history import Written
from barnabas.simulation.host import Host
from barnabas.simulation.network import Address
from barnabas.simulation.scheduler import Appointment
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.recovery import open_log
from barnabas.storage.segment import Segment
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.vote import VoteRequest, VoteResponse

if TYPE_CHECKING:
    from barnabas.simulation.quorum_world import QuorumWorld

CONTROLLER_PORT = 9093
LISTENER = "CONTROLLER"
DIRECTORY = "/data/__cluster_metadata-0"
CLUSTER_ID = "simulated-cluster-0000"
# Small, so that a run sees segments rolled.
SEGMENT_BYTES = 4096
# The latest of the requests that quorums send.
VERSION = 17
VOTE_VERSION = 2
SETTINGS = QuorumSettings()


class QuorumProcess:
    def __init__(self, world: QuorumWorld, host: Host, node_id: NodeId) -> None:
        self.world = world
        self.host = host
        self._disk = host.disk
        self._disk.make_directory(DIRECTORY)
        # As a real node does before it starts: what a name leads to must be there after a power cut.
        self._disk.sync_directory("/data")
        self._disk.sync_directory("/")
        self.log = self._open()
        voters = [(NodeId(number + 1), each.name, CONTROLLER_PORT) for number, each in enumerate(world.voters)]
        key = ReplicaKey(node_id, Uuid(node_id.to_bytes(16, "big")))
        identity = Identity(key, CLUSTER_ID, LISTENER, (Endpoint(LISTENER, host.name, CONTROLLER_PORT),))
        self.core = QuorumNode(identity, configured_voters(LISTENER, voters), self._read_state(), SETTINGS, host.entropy)
        self._events: deque[Event] = deque()
        self._stepping = False
        self._alarm: Appointment | None = None
        self._flushing = False
        self._flush_wanted = 0
        self._tokens = count(1)
        self._answers: dict[int, Promise[Any]] = {}

    def _open(self) -> Log:
        log, _ = open_log(
            self._disk,
            DIRECTORY,
            METADATA_PARTITION,
            LogSettings(segment_bytes=SEGMENT_BYTES),
            clean=False,
            recovery_point=0,
            log_start_offset=0,
            now_ms=self.host.clock.wall_ms(),
        )
        # What a dead process wrote may still be with the kernel, and the core takes all it finds for durable.
        log.flush()
        return log

    def _read_state(self) -> QuorumState:
        path = f"{DIRECTORY}/{QUORUM_STATE}"
        return decode_quorum_state(self._disk.read(path).decode()) if self._disk.exists(path) else QuorumState()

    # -- what the world asks --------------------------------------------------------------------------------------------------

    @property
    def leading(self) -> bool:
        return self.core.leading

    @property
    def high_watermark(self) -> int:
        return self.core.high_watermark

    def start(self) -> None:
        self.world.network.listen(self.host, CONTROLLER_PORT, self.serve)
        outline = LogOutline(end_offset=self.log.log_end_offset)
        changes: list[ControlChange] = []
        for header, batch in self.log.batches(0, self.log.log_end_offset):
            if not outline.epochs or header.leader_epoch > outline.epochs[-1].epoch:
                outline.epochs.append(EpochStart(header.leader_epoch, header.base_offset))
            changes += control_changes(header, batch)
        self.step(events.Started(outline, changes))

    def append(self, payloads: tuple[bytes, ...]) -> int:
        self.step(events.Append(payloads))
        return self.core.log_end_offset

    def serve(self, request: Any) -> Promise[Any]:
        token = next(self._tokens)
        answer = self._answers[token] = Promise()
        if isinstance(request, VoteRequest):
            answer.then(lambda response: self._look_at_vote(request, response))
        self.step(events.Requested(token, request, VERSION if isinstance(request, FetchRequest) else VOTE_VERSION))
        return answer

    def written(self, start: int, end: int) -> Iterator[Written]:
        for header, _ in self.log.batches(start, end):
            yield Written(header.base_offset, header.last_offset + 1, header.leader_epoch, header.crc)

    def _look_at_vote(self, request: VoteRequest, response: VoteResponse) -> None:
        asked = request.topics[0].partitions[0]
        if not asked.pre_vote and response.topics and response.topics[0].partitions[0].vote_granted:
            self.world.leaders.votes(self.host.name, asked.replica_epoch, asked.replica_id)

    # -- the shell ------------------------------------------------------------------------------------------------------------

    def step(self, event: Event) -> None:
        """Effects may bring new events about; those wait until all effects of the one before are performed."""
        self._events.append(event)
        if self._stepping:
            return
        self._stepping = True
        while self._events:
            for effect in self.core.step(self._events.popleft(), self.host.clock.monotonic_ms()):
                self.host.effect()
                self._watch(effect)
                self.perform(effect)
        self._stepping = False
        self._set_alarm()

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        delay_ms = self.core.deadline_ms - self.host.clock.monotonic_ms()
        assert self.host.loop is not None
        # Never at once again: a core that asks for the present would stop time.
        self._alarm = self.host.loop.call_later(max(1, min(delay_ms, 3_600_000)) / 1000, self.step, events.Tick())

    def _watch(self, effect: Effect) -> None:
        if isinstance(effect, effects.Persist) and effect.state.voted_id >= 0:
            self.world.voted(self, effect.state.epoch, effect.state.voted_id)

    def perform(self, effect: Effect) -> None:
        log, now_ms = self.log, self.host.clock.wall_ms()
        match effect:
            case effects.Persist(state):
                path = f"{DIRECTORY}/{QUORUM_STATE}"
                write_atomically(self._disk, path, encode_quorum_state(state, list(self.core.voters)).encode())
            case effects.WriteControl(epoch, base_offset, records):
                self._append(build_control_batch(list(records), base_offset=0, timestamp=now_ms, leader_epoch=epoch), epoch, base_offset)
            case effects.WriteBatch(epoch, base_offset, payloads):
                records_of = (Record(index, now_ms, None, payload) for index, payload in enumerate(payloads))
                self._append(build_batch(records_of), epoch, base_offset)
            case effects.WriteFetched(base_offset, batches):
                assert base_offset == log.log_end_offset, f"batches for {base_offset} at {log.log_end_offset}"
                view = memoryview(batches)
                for position, header in walk(view):
                    log.append_as_follower(view[position : position + header.size_bytes], header, now_ms)
            case effects.Truncate(end_offset):
                log.truncate_to(end_offset)
                self.world.truncated(self, log.log_end_offset)
                self._events.append(events.Truncated(log.log_end_offset))
            case effects.Flush(end_offset, generation):
                self._flush_wanted = max(self._flush_wanted, end_offset)
                self._flush(generation)
            case effects.Send(request_id, host, port, request, timeout_ms):
                asked = self.world.network.ask(self.host, Address(host, port), request, timeout_ms=timeout_ms)
                asked.then(lambda outcome: self.step(events.Answered(request_id, outcome)))
            case effects.Reply(token, response):
                self._answers.pop(token).resolve(response)
            case effects.ReplyWithRecords(token, response, offset, size_bytes_max):
                read = log.read(offset, size_bytes_max=size_bytes_max, end_offset=log.log_end_offset, at_least_one=True)
                if read.region is not None:
                    response.responses[0].partitions[0].records = read.region.read()
                    read.region.release()
                self._answers.pop(token).resolve(response)
            case effects.BecameLeader(epoch, _):
                self.world.became_leader(self, epoch)
            case effects.Committed(high_watermark):
                self.world.has_committed(self, high_watermark)
            case effects.Complain(problem):
                self.world.say(f"{self.host.name} complains: {problem}")
            case effects.Resigned(epoch):
                self.world.say(f"{self.host.name} resigns epoch {epoch}")
            case effects.LeaderKnown():
                pass
            case _:
                raise AssertionError(f"no snapshots here, and so no {effect}")

    def _append(self, batch: bytearray, epoch: int, base_offset: int) -> None:
        assert base_offset == self.log.log_end_offset, f"a batch for {base_offset} at {self.log.log_end_offset}"
        view = memoryview(batch)
        outcome = self.log.append(view, read_header(view), leader_epoch=epoch, now_ms=self.host.clock.wall_ms())
        assert not isinstance(outcome, Refused), f"refused: {outcome}"

    # -- flushing -------------------------------------------------------------------------------------------------------------

    def _flush(self, generation: int) -> None:
        if self._flushing:
            return
        self._flushing = True
        end_offset, segments = self.log.flushable()
        loop = self.host.loop
        assert loop is not None
        done = loop.run_in_executor(None, _sync_all, segments)
        done.add_done_callback(lambda _: self._flushed(end_offset, generation))

    def _flushed(self, end_offset: int, generation: int) -> None:
        self._flushing = False
        current = self.core.quorum.log.generation
        if generation == current:
            self.log.flushed(end_offset)
            self.step(events.Flushed(end_offset, generation))
        if self.log.recovery_point < self.log.log_end_offset:
            self._flush(self.core.quorum.log.generation)


def _sync_all(segments: list[Segment]) -> None:
    for segment in segments:
        segment.sync()
