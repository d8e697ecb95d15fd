"""The settings of the share coordinator."""

from __future__ import annotations

from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShareCoordinatorSettings:
    updates_per_snapshot: int = 500
    """The number of updates between two snapshots of a share partition."""
    cold_snapshot_ms: int = 300_000
    """A share partition whose snapshot is older than this gets a new one while others change."""
    prune_ms: int = 300_000
    """The interval at which superseded records are deleted."""
