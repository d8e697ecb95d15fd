"""The common interface of groups of all protocols.

Offsets, deletion, expiry and the listing of groups use only this; the protocols are in ``classic/``
and ``consumer/``.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode


class Group(Protocol):
    group_id: str

    @property
    def kind(self) -> GroupKind: ...

    @property
    def protocol_type(self) -> str:
        """The protocol type of its members, such as "consumer" or "connect"; empty for a group that
        only has offsets.
        """

    @property
    def state_name(self) -> str:
        """The name in ListGroups and DescribeGroups: Empty, Stable, PreparingRebalance,
        Assigning...
        """

    @property
    def empty_since_ms(self) -> int | None:
        """The time since which the group has no members, from which its offsets age; None while it
        has members.
        """

    def subscribed_to(self, topic: str) -> bool:
        """Whether a member subscribes to the topic; if so, its offsets can neither be deleted nor
        expire.
        """

    def check_commit(self, *, member_id: str, instance_id: str | None, epoch: int, transactional: bool) -> ErrorCode:
        """Whether a client may commit offsets; ``epoch`` is its generation or member epoch."""

    def check_fetch(self, *, member_id: str | None, epoch: int) -> ErrorCode:
        """Whether a member that names itself may fetch offsets (OffsetFetch version 9 and
        later).
        """

    def check_delete(self) -> ErrorCode:
        """NONE if the group may be deleted."""

    def tombstones(self) -> list[CoordinatorRecord]:
        """The tombstones of the group's own records, without those of its offsets."""

    def committed(self, member_id: str, now_ms: int) -> None:
        """A commit extends the session like a heartbeat."""
