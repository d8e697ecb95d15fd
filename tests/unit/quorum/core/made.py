"""One quorum node of three; the test plays its peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from barnabas.model.ids import LeaderEpoch, NodeId, Uuid
from barnabas.quorum.core.effects import Effect, Reply, ReplyWithRecords, Send
from barnabas.quorum.core.events import Answered, Event, Flushed, Requested, Started, Tick
from barnabas.quorum.core.log_outline import EpochStart, LogOutline, OffsetAndEpoch
from barnabas.quorum.core.messages import LeaderInfo, begin_request, fetch_request, vote_request, vote_response
from barnabas.quorum.core.node import QuorumNode
from barnabas.quorum.core.quorum import Identity
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.settings import QuorumSettings
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, VoterSet, configured_voters
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import assign_offset
from barnabas.records.record import Record
from barnabas.wire.messages.vote import VoteRequest

CLUSTER = "a-cluster"
LISTENER = "CONTROLLER"
NEWEST = 0x7FFF
START_MS = 10_000
SETTINGS = QuorumSettings()

E = TypeVar("E")


class NoChance:
    """Every choice is the first."""

    def bytes(self, size: int) -> bytes:
        return bytes(size)

    def below(self, bound: int) -> int:
        return 0


def key(node_id: int) -> ReplicaKey:
    return ReplicaKey(NodeId(node_id), Uuid(bytes([node_id]) * 16))


def three_voters() -> VoterSet:
    return configured_voters(LISTENER, [(NodeId(each), f"n{each}", 9093) for each in (1, 2, 3)])


class OneOfThree:
    """Node 1."""

    def __init__(self, *, state: QuorumState | None = None, log: LogOutline | None = None, may_vote: bool = True) -> None:
        identity = Identity(key(1 if may_vote else 9), CLUSTER, LISTENER, (Endpoint(LISTENER, "n1" if may_vote else "n9", 9093),), may_vote)
        self.core = QuorumNode(identity, three_voters(), state or QuorumState(), SETTINGS, NoChance())
        self.now_ms = START_MS
        self.effects: list[Effect] = self.core.step(Started(log or LogOutline()), START_MS)
        self._tokens = 0

    def is_a(self, *roles: type[Any]) -> bool:
        return isinstance(self.core.quorum.role, roles)

    def step(self, event: Event, *, after_ms: int = 0) -> list[Effect]:
        self.now_ms += after_ms
        self.effects = self.core.step(event, self.now_ms)
        return self.effects

    def wait(self) -> list[Effect]:
        """Waits until the node's own deadline."""
        self.now_ms = max(self.now_ms, self.core.deadline_ms)
        return self.step(Tick())

    def found(self, kind: type[E]) -> list[E]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def sent(self, kind: type[Any]) -> list[Send]:
        return [effect for effect in self.found(Send) if isinstance(effect.request, kind)]

    def ask(self, request: Any, version: int = NEWEST, *, listener_name: str | None = None) -> Any:
        """The answer, or None while the request waits."""
        self._tokens += 1
        self.step(Requested(self._tokens, request, version, listener_name))
        return self.reply_to(self._tokens)

    def reply_to(self, token: int) -> Any:
        replies = [effect for effect in self.effects if isinstance(effect, Reply | ReplyWithRecords) and effect.token == token]
        return replies[0].response if replies else None

    @property
    def last_token(self) -> int:
        return self._tokens

    def answer(self, send: Send, response: Any) -> list[Effect]:
        return self.step(Answered(send.request_id, response))

    def flush(self) -> list[Effect]:
        log = self.core.quorum.log
        return self.step(Flushed(log.end_offset, log.generation))

    # -- the usual ways into a role -----------------------------------------------------------

    def stand(self) -> list[Send]:
        """Lets the node stand for election; returns its requests for binding votes."""
        for _ in range(4):
            if self.sent(VoteRequest):
                break
            self.wait()
        self.answer(self.sent(VoteRequest)[0], granted(self.core.epoch))
        return self.sent(VoteRequest)

    def lead(self) -> None:
        votes = self.stand()
        self.answer(votes[0], granted(self.core.epoch))
        assert self.core.leading

    def follow(self, leader_id: int = 2, epoch: int = 1) -> None:
        self.ask(begin(leader_id, epoch))


def granted(epoch: int, *, leader: LeaderInfo | None = None) -> Any:
    return vote_response(0, leader or LeaderInfo(NodeId(-1), LeaderEpoch(epoch)), NEWEST, granted=True)  # type: ignore[arg-type]


def refused(epoch: int, *, leader: LeaderInfo | None = None) -> Any:
    return vote_response(0, leader or LeaderInfo(NodeId(-1), LeaderEpoch(epoch)), NEWEST, granted=False)  # type: ignore[arg-type]


def begin(leader_id: int, epoch: int, *, endpoints: Sequence[Endpoint] = ()) -> Any:
    return begin_request(CLUSTER, epoch=epoch, leader_id=NodeId(leader_id), endpoints=endpoints, voter=key(1))


def vote(candidate: int, epoch: int, *, end: tuple[int, int] = (0, 0), pre: bool = False, voter: ReplicaKey | None = None) -> Any:
    return vote_request(
        CLUSTER, epoch=epoch, candidate=key(candidate), voter=voter or key(1), end_of_log=OffsetAndEpoch(*end), pre_vote=pre
    )


def fetch(replica: int, epoch: int, *, end: tuple[int, int] = (0, 0), high_watermark: int = -1, wait_ms: int = 500) -> Any:
    return fetch_request(
        CLUSTER,
        replica=key(replica),
        epoch=epoch,
        end_of_log=OffsetAndEpoch(*end),
        log_start_offset=0,
        high_watermark=high_watermark,
        wait_ms_max=wait_ms,
        size_bytes_max=1 << 20,
    )


def log_of(*epochs: tuple[int, int], end: int, snapshots: Sequence[tuple[int, int]] = (), start: int = 0) -> LogOutline:
    return LogOutline(
        start_offset=start,
        end_offset=end,
        epochs=[EpochStart(epoch, first) for epoch, first in epochs],
        snapshots=[OffsetAndEpoch(*each) for each in snapshots],
    )


def batch_at(offset: int, epoch: int, *values: bytes) -> bytes:
    batch = build_batch(Record(index, 1, None, value) for index, value in enumerate(values or (b"v",)))
    assign_offset(batch, offset, epoch)
    return bytes(batch)
