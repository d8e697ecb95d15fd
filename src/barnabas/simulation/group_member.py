"""A member of a consumer group of either protocol, as its copier sees it.

Between two transactions the copier calls :meth:`GroupMember.settle`, and afterwards owns the
partitions in :attr:`GroupMember.owned`. During a transaction the member continues its heartbeats
and may learn that the group has changed, but changes nothing itself: the coordinator decides
whether the copier may still commit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.simulation.coordinator_client import CoordinatorClient

SESSION_TIMEOUT_MS = 2000
REBALANCE_TIMEOUT_MS = 3000
HEARTBEAT_SECONDS = 0.3


class Fenced(Exception):
    """Another process has taken this one's place, in its group or with its transactional id: it has
    to end.
    """


class Membership(NamedTuple):
    """The fields that a copier sends with its offsets, so that the coordinator refuses those of an
    evicted member (KIP-447).
    """

    member_id: str
    generation: int
    instance_id: str | None


class GroupMember(ABC):
    has_epoch = False
    """Whether OffsetFetch carries its member id and epoch, as in the consumer protocol."""

    def __init__(self, client: CoordinatorClient, group_id: str, topic: str, partitions: int, instance_id: str | None) -> None:
        self.client = client
        self.group_id = group_id
        self.topic = topic
        self.partitions = partitions
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.owned: frozenset[int] = frozenset()
        self._taken: set[int] = set()
        self._fenced: ErrorCode | None = None

    @property
    def membership(self) -> Membership:
        return Membership(self.member_id, self.generation, self.instance_id)

    def take_lost(self) -> set[int]:
        """Partitions that it has not owned without interruption since the last call: their
        positions are invalid.
        """
        taken, self._taken = self._taken, set()
        return taken

    def own(self, partitions: frozenset[int]) -> None:
        self._taken |= self.owned - partitions
        self.owned = partitions

    def check_fenced(self) -> None:
        if self._fenced is not None:
            raise Fenced(f"{self.member_id} gets {self._fenced.name}")

    @abstractmethod
    async def beat(self) -> None:
        """Heartbeats, for as long as the process lives."""

    @abstractmethod
    async def settle(self) -> None:
        """Follow the group. Afterwards the member is in it, as far as it knows."""

    @abstractmethod
    def refused(self, code: ErrorCode) -> None:
        """The coordinator refused a commit of its copier."""

    @abstractmethod
    async def leave(self) -> None: ...
