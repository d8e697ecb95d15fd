"""A member of a classic group: the data of its join, its assignment, and its waiting requests."""

from __future__ import annotations

from collections.abc import Container

from barnabas.model.dataclass import dataclass
from barnabas.model.promise import Promise
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse

# Pairs of protocol name and metadata, in the member's order of preference.
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
    """The member does not know its own id yet, so it cannot send heartbeats: its first join has no
    response yet.
    """
    overdue: bool = False
    """The session ended while the member waited for the coordinator; it has one more whole session
    to receive the response.
    """
    waiting_join: Promise[JoinGroupResponse] | None = None
    waiting_sync: Promise[SyncGroupResponse] | None = None

    @property
    def static(self) -> bool:
        return self.instance_id is not None

    @property
    def excused(self) -> bool:
        """A member that waits for the coordinator need not send heartbeats. A new member must: its
        client may have given up and joined again as another member.
        """
        return not self.new and (self.waiting_join is not None or self.waiting_sync is not None)

    def vote(self, candidates: Container[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)

    def subscription(self, protocol: str) -> bytes:
        return next(metadata for name, metadata in self.protocols if name == protocol)

    def protocol_names(self) -> set[str]:
        return {name for name, _ in self.protocols}
