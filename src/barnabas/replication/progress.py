"""The progress of a follower, as its leader sees it from its fetches.

A follower that fetches from offset N has everything below N in its log, perhaps only in the page
cache of its machine: its fetch offset is its acknowledgement. It was *caught up* at the last moment
at which it had everything that the leader had: at a fetch from the leader's end offset, or, if it
reads a busy partition and is always a little behind, at the previous fetch, when this one asks for
the end offset of that time.
"""

from __future__ import annotations

UNKNOWN_OFFSET = -1
# A fetch in versions before 15 does not carry the epoch of its broker (KIP-903).
UNKNOWN_REPLICA_EPOCH = -1


class ReplicaProgress:
    """Times are the leader's, and monotonic."""

    __slots__ = (
        "_fetch_end_offset",
        "_fetch_ms",
        "caught_up",
        "caught_up_ms",
        "log_end_offset",
        "log_start_offset",
        "replica_epoch",
        "sent_offset",
    )

    def __init__(self, *, caught_up_ms: int, caught_up: bool) -> None:
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.sent_offset = UNKNOWN_OFFSET  # from where on records were last sent to it
        self.replica_epoch: int | None = None  # None until it has fetched from this leader
        self.caught_up_ms = caught_up_ms
        # Whether it was within the allowed lag at the last check: at each of its fetches, and
        # periodically.
        self.caught_up = caught_up
        # Of the previous fetch. At first there is none, and a fetch from below the end shows
        # nothing about the time before.
        self._fetch_ms = caught_up_ms
        self._fetch_end_offset = 0

    def fetched(self, offset: int, *, log_start_offset: int, replica_epoch: int, leader_end_offset: int, now_ms: int) -> None:
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self._fetch_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self._fetch_ms)
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.replica_epoch = replica_epoch
        self._fetch_ms = now_ms
        self._fetch_end_offset = leader_end_offset

    def still(self, end_offset: int, *, log_start_offset: int, replica_epoch: int, now_ms: int) -> bool:
        """Whether it fetches from the leader's end offset, as the last time. In that case this does
        the work of :meth:`fetched`."""
        if (self.log_end_offset, self.log_start_offset, self.replica_epoch) != (end_offset, log_start_offset, replica_epoch):
            return False
        self.caught_up_ms = self._fetch_ms = now_ms
        self._fetch_end_offset = end_offset
        self.caught_up = True
        return True

    def look(self, leader_end_offset: int, *, now_ms: int, lag_ms_max: int) -> bool:
        """Whether it keeps up: it has everything, or had everything at some time within the last
        ``lag_ms_max``."""
        self.caught_up = self.log_end_offset == leader_end_offset or now_ms - self.caught_up_ms <= lag_ms_max
        return self.caught_up

    def lead_again(self, leader_end_offset: int, *, in_sync: bool, now_ms: int) -> None:
        """The same leader has a new epoch: its knowledge stays true, and in-sync replicas get the
        full time to fetch in the new epoch."""
        self._fetch_end_offset = leader_end_offset
        self._fetch_ms = now_ms if in_sync else self.caught_up_ms
        if in_sync:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        self.caught_up = in_sync
