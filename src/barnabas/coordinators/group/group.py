"""What every group is, whichever protocol its members speak.

Offsets, deletion, expiry and the listing of groups know only this; the protocols themselves are in ``classic/`` and ``consumer/``.
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
        """ "consumer", "connect", whatever its members said; empty for a group that only has offsets."""

    @property
    def state_name(self) -> str:
        """As ListGroups and DescribeGroups name it: Empty, Stable, PreparingRebalance, Assigning..."""

    @property
    def empty_since_ms(self) -> int | None:
        """Since when nobody is in the group; None while somebody is. Offsets of an empty group grow old."""

    def subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic, so that its offsets may neither be deleted nor expire."""

    def check_commit(self, *, member_id: str, instance_id: str | None, epoch: int, transactional: bool) -> ErrorCode:
        """Whether somebody may commit offsets: ``epoch`` is the generation or the member epoch it believes in."""

    def check_fetch(self, *, member_id: str | None, epoch: int) -> ErrorCode:
        """Whether somebody who names itself may read offsets (OffsetFetch version 9 and later)."""

    def check_delete(self) -> ErrorCode:
        """NONE where the group may be deleted."""

    def tombstones(self) -> list[CoordinatorRecord]:
        """What deletes the group's own records from the log; its offsets are not among them."""

    def committed(self, member_id: str, now_ms: int) -> None:
        """A commit is as good as a heartbeat."""
