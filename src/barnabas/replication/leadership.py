"""The leader's knowledge in one leader epoch: the epoch's start, its followers' progress, the ISR.

The high watermark is the lowest end offset of all replicas that count. A follower outside of the
ISR that keeps up counts too, while it waits for the controller to add it. If it did not count, the
high watermark could advance past it again and again, and it would never be in sync.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.metadata.topics import PartitionImage
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.isr import InSync, Isr, IsrChange
from barnabas.replication.progress import UNKNOWN_REPLICA_EPOCH, ReplicaProgress


class Leadership:
    __slots__ = ("_cluster_view", "_node_id", "epoch_start_offset", "followers", "isr")

    def __init__(
        self,
        image: PartitionImage,
        cluster_view: ClusterView,
        *,
        node_id: int,
        log_end_offset: int,
        now_ms: int,
        before: Leadership | None = None,
    ) -> None:
        """``before`` is the previous epoch's leadership of this node; its progress stays valid."""
        self._node_id = node_id
        self._cluster_view = cluster_view
        self.epoch_start_offset = log_end_offset
        self.isr = Isr(image)
        self.followers: dict[int, ReplicaProgress] = {}
        for replica in image.replicas:
            if replica == node_id:
                continue
            in_sync = replica in image.isr
            known = before.followers.get(replica) if before is not None else None
            if known is None:
                known = ReplicaProgress(caught_up_ms=now_ms if in_sync else -cluster_view.lag_ms_max - 1, caught_up=in_sync)
            else:
                known.lead_again(log_end_offset, in_sync=in_sync, now_ms=now_ms)
            self.followers[replica] = known

    def follow(self, image: PartitionImage) -> None:
        """Apply new metadata of the same leader epoch."""
        self.isr.follow(image)
        others = [replica for replica in image.replicas if replica != self._node_id]
        lag_ms_max = self._cluster_view.lag_ms_max
        self.followers = {
            replica: self.followers.get(replica) or ReplicaProgress(caught_up_ms=-lag_ms_max - 1, caught_up=False) for replica in others
        }

    # -- the high watermark ------------------------------------------------------------------------

    def high_watermark(self, log_end_offset: int) -> int:
        lowest, maximal = log_end_offset, self.isr.maximal
        for replica, progress in self.followers.items():
            if progress.log_end_offset < lowest and (replica in maximal or self._keeps_up(replica, progress)):
                lowest = progress.log_end_offset
        return lowest

    def holding(self, log_end_offset: int) -> list[int]:
        """The replicas that hold the high watermark below the leader's end offset."""
        lowest = self.high_watermark(log_end_offset)
        return [
            replica
            for replica, progress in self.followers.items()
            if progress.log_end_offset == lowest < log_end_offset and (replica in self.isr.maximal or self._keeps_up(replica, progress))
        ]

    def low_watermark(self, log_start_offset: int) -> int:
        """The lowest log start offset of all live replicas."""
        lowest = log_start_offset
        for replica, progress in self.followers.items():
            broker = self._cluster_view.broker(replica)
            if progress.log_start_offset < lowest and broker is not None and not broker.fenced:
                lowest = progress.log_start_offset
        return lowest

    # -- the in-sync replicas ----------------------------------------------------------------------

    def expand(self, replica: int, *, high_watermark: int) -> IsrChange | None:
        """Propose a follower that has all committed records and has reached this leader epoch.

        An earlier leader may have committed offsets above this leader's high watermark, but never
        above the start of its epoch.
        """
        isr, progress = self.isr, self.followers[replica]
        if isr.pending is not None or replica in isr.committed:
            return None
        if progress.log_end_offset < max(high_watermark, self.epoch_start_offset) or not self._eligible(replica, progress):
            return None
        return isr.propose(self._members([*isr.committed, replica]), grows=True)

    def shrink(self, log_end_offset: int, *, now_ms: int) -> IsrChange | None:
        """Propose to remove followers that have not kept up.

        Every follower is checked, also those out of sync: one that has fallen behind must no
        longer hold the high watermark.
        """
        lag_ms_max = self._cluster_view.lag_ms_max
        behind = {
            replica
            for replica, progress in self.followers.items()
            if not progress.look(log_end_offset, now_ms=now_ms, lag_ms_max=lag_ms_max)
        }
        isr = self.isr
        # This also removes brokers that are no longer replicas.
        kept = [each for each in isr.committed if each == self._node_id or (each in self.followers and each not in behind)]
        if isr.pending is not None or len(kept) == len(isr.committed):
            return None
        return isr.propose(self._members(kept), grows=False)

    def _members(self, brokers: Iterable[int]) -> list[InSync]:
        return [InSync(broker, self._epoch_of(broker)) for broker in brokers]

    def _epoch_of(self, broker: int) -> int:
        if broker == self._node_id:
            return self._cluster_view.own_epoch()
        progress = self.followers.get(broker)
        known = progress.replica_epoch if progress is not None else None
        return UNKNOWN_REPLICA_EPOCH if known is None else known

    def _keeps_up(self, replica: int, progress: ReplicaProgress) -> bool:
        """Whether a follower outside of the ISR counts: it has caught up and is eligible."""
        return progress.caught_up and self._eligible(replica, progress)

    def _eligible(self, replica: int, progress: ReplicaProgress) -> bool:
        """Whether the controller would add it to the ISR.

        Its broker must be unfenced, not shutting down, and the incarnation that fetched.
        """
        broker = self._cluster_view.broker(replica)
        return broker is not None and broker.active and progress.replica_epoch in (UNKNOWN_REPLICA_EPOCH, broker.epoch)
