"""The outline of the log that the quorum needs: its start and end, the start of each epoch, and its
snapshots.

The core keeps this outline itself and changes it with every effect it asks for, so that within one
step it knows the state after those effects. Two logs agree up to an offset exactly when they agree
on the epoch of the batch before it: all questions of divergence reduce to that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple

from barnabas.model.dataclass import dataclass


class OffsetAndEpoch(NamedTuple):
    """The end of a log or of a snapshot: the offset behind the last record, and the epoch of that
    record."""

    offset: int
    epoch: int


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


# The end of a log to which nothing was ever written.
EMPTY = OffsetAndEpoch(0, 0)


@dataclass(frozen=True, slots=True)
class Valid:
    """The follower's log is a prefix of this log."""


@dataclass(frozen=True, slots=True)
class Diverging:
    """The follower's last epoch ended here, or never existed here: the follower must truncate."""

    end: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class Snapshotted:
    """The records that a follower needs are only in a snapshot."""

    snapshot: OffsetAndEpoch


@dataclass(slots=True)
class LogOutline:
    start_offset: int = 0
    end_offset: int = 0
    epochs: list[EpochStart] = field(default_factory=list)
    # All snapshots on disk, oldest first.
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    flushed_offset: int = 0
    # Counts truncations: a flush that began before a truncation says nothing about records written
    # after it.
    generation: int = 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, or of the snapshot where the log begins when it has no
        batch."""
        if self.epochs:
            return self.epochs[-1].epoch
        return self.snapshots[-1].epoch if self.snapshots else 0

    @property
    def end(self) -> OffsetAndEpoch:
        return OffsetAndEpoch(self.end_offset, self.last_epoch)

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return self.snapshots[-1] if self.snapshots else None

    def is_behind(self, other: OffsetAndEpoch) -> bool:
        """Whether ``other`` is at least as far: a later epoch counts more than any length."""
        return (other.epoch, other.offset) >= (self.last_epoch, self.end_offset)

    def extend(self, end_offset: int, epochs: Iterable[EpochStart]) -> None:
        for entry in epochs:
            assert not self.epochs or entry.epoch >= self.epochs[-1].epoch, f"epoch {entry.epoch} behind {self.epochs[-1].epoch}"
            if not self.epochs or entry.epoch > self.epochs[-1].epoch:
                self.epochs.append(entry)
        assert end_offset > self.end_offset, f"a log that ends at {self.end_offset} grows to {end_offset}"
        self.end_offset = end_offset

    def truncate(self, end_offset: int) -> None:
        assert self.start_offset <= end_offset <= self.end_offset
        self.end_offset = end_offset
        self.flushed_offset = min(self.flushed_offset, end_offset)
        self.epochs = [entry for entry in self.epochs if entry.start_offset < end_offset]
        self.generation += 1

    def restart_at(self, snapshot: OffsetAndEpoch) -> None:
        """A snapshot of another node is in place, and the log begins behind it."""
        self.start_offset = self.end_offset = self.flushed_offset = snapshot.offset
        self.epochs = []
        self.snapshots = [snapshot]
        self.generation += 1

    def trimmed(self, start_offset: int, snapshots: Iterable[OffsetAndEpoch]) -> None:
        """The front of the log is gone, and ``snapshots`` are those that are left."""
        self.start_offset = start_offset
        self.snapshots = sorted(snapshots)
        spanning = bisect_right(self.epochs, start_offset, key=lambda entry: entry.start_offset) - 1
        if spanning > 0:
            self.epochs = [EpochStart(self.epochs[spanning].epoch, start_offset), *self.epochs[spanning + 1 :]]

    def end_offset_for(self, epoch: int) -> OffsetAndEpoch:
        """The largest known epoch at or below ``epoch``, and the offset where it ended."""
        higher = bisect_right(self.epochs, epoch, key=lambda entry: entry.epoch)
        if higher == len(self.epochs):
            return self.end
        end = self.epochs[higher].start_offset
        if higher > 0:
            return OffsetAndEpoch(end, self.epochs[higher - 1].epoch)
        # The epoch is older than everything in the log: it ended with the snapshot where the log
        # begins.
        earliest = self.snapshots[0] if self.snapshots else EMPTY
        return earliest if earliest.offset == end else OffsetAndEpoch(end, min(epoch, earliest.epoch))

    def validate(self, offset: int, epoch: int) -> Valid | Diverging | Snapshotted:
        """Whether a log that ends at ``offset`` with a record of ``epoch`` is a prefix of this
        one."""
        latest = self.latest_snapshot
        if offset == 0 and latest is not None and latest != EMPTY:
            # The whole log would serve as well, but the snapshot is shorter.
            return Snapshotted(latest)
        if self.start_offset == 0 and offset == 0:
            return Valid()
        if latest is not None:
            earliest = self.snapshots[0]
            if offset < self.start_offset or epoch < earliest.epoch or (offset == self.start_offset and epoch != earliest.epoch):
                return Snapshotted(latest)
        end = self.end_offset_for(epoch)
        if end.epoch != epoch or end.offset < offset:
            return Diverging(end)
        return Valid()

    def truncation_point(self, leader_end: OffsetAndEpoch) -> int:
        """The offset at which this log must end, given that the leader's epoch ``leader_end.epoch``
        ended at ``leader_end.offset``."""
        mine = self.end_offset_for(leader_end.epoch)
        return min(mine.offset, leader_end.offset) if mine.epoch == leader_end.epoch else mine.offset
