"""A member of a classic group: what it said when it joined, what it was given, and the requests of its that wait."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from barnabas.model.promise import Promise
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse

# What a member can do, the one it likes best first: a protocol's name and what it has to say under it.
Protocols = tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class ClassicMember:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    new: bool = False
    """It does not know its own id yet, and so cannot send heartbeats: its first join is still on its way."""
    overdue: bool = False
    """Its session ended while it waited for the coordinator: it has another one, whole, for its answer to arrive in."""
    waiting_join: Promise[JoinGroupResponse] | None = None
    waiting_sync: Promise[SyncGroupResponse] | None = None

    @property
    def static(self) -> bool:
        return self.instance_id is not None

    @property
    def excused(self) -> bool:
        """Whoever waits for the coordinator owes it no heartbeat. A new member does: it may have given up and come back as another."""
        return not self.new and (self.waiting_join is not None or self.waiting_sync is not None)

    def vote(self, candidates: Container[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)

    def subscription(self, protocol: str) -> bytes:
        return next(metadata for name, metadata in self.protocols if name == protocol)

    def protocol_names(self) -> set[str]:
        return {name for name, _ in self.protocols}
