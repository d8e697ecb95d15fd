"""The actions that share groups request outside their shard."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class InitializeStates:
    """Initialize the state of these share partitions in the share coordinator, and then call
    ``initialized`` of the shard's share groups with the result.
    """

    group_id: str
    number: int
    """Among the requests of the shard."""
    state_epoch: int
    start_offsets: Mapping[IdPartition, int]
