"""The actions that a share coordinator requests outside its shard."""

from __future__ import annotations

from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PruneLog:
    """Delete the records of the shard's log below an offset: newer snapshots supersede them."""

    before_offset: int
