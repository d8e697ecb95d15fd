"""The state of a replica's files: corruption, a truncation not yet durable, a move in progress."""

from __future__ import annotations

from barnabas.replication.future_replica import FutureReplica


class ReplicaHealth:
    __slots__ = ("damage", "future", "truncation_unsaved")

    def __init__(self) -> None:
        # The offset of a corrupt batch in the log.
        self.damage: int | None = None
        # The log was truncated, and the disk had no room to write the new recovery point.
        self.truncation_unsaved = False
        # The copy in another directory, while the replica moves there.
        self.future: FutureReplica | None = None
