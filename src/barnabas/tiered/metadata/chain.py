"""A catalogue as one log sees it: along that log's leader epochs, the remote segment that serves
each offset.

A chain is a value. The loop's thread builds one whenever the catalogue or the epochs have changed,
and readers on worker threads keep theirs. Segments of other histories (an epoch that this log never
had, or the truncated end of an epoch) have no link in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.model.dataclass import dataclass
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata

NOTHING_COPIED = -1


class Link(NamedTuple):
    """The offsets from ``start_offset`` to ``end_offset``, both included, are in ``segment``."""

    start_offset: int
    end_offset: int
    segment: RemoteSegmentMetadata


@dataclass(frozen=True, slots=True)
class RemoteChain:
    links: tuple[Link, ...] = ()
    """Ascending, without overlaps; there may be holes."""

    def holding(self, offset: int) -> Link | None:
        slot = bisect_right(self.links, offset, key=lambda link: link.start_offset) - 1
        if slot >= 0 and offset <= self.links[slot].end_offset:
            return self.links[slot]
        return None

    def slot(self, offset: int) -> int:
        """The index in ``links`` of the link that holds ``offset``, or of the first link behind
        it."""
        slot = bisect_right(self.links, offset, key=lambda link: link.start_offset) - 1
        return slot if slot >= 0 and offset <= self.links[slot].end_offset else slot + 1

    @property
    def start_offset(self) -> int | None:
        return self.links[0].start_offset if self.links else None

    @property
    def end_offset(self) -> int:
        """The last offset, or ``NOTHING_COPIED``."""
        return self.links[-1].end_offset if self.links else NOTHING_COPIED


def build_chain(catalogue: RemoteCatalogue, leader_epochs: Sequence[EpochStart], log_end_offset: int) -> RemoteChain:
    """``leader_epochs`` and ``log_end_offset`` are those of the local log."""
    links: list[Link] = []
    for epoch, first, last in _ranges(leader_epochs, log_end_offset):
        of_epoch = list(catalogue.referenced(epoch))
        for index, (start, segment) in enumerate(of_epoch):
            # Of two segments that overlap the later one serves, as in RemoteCatalogue.segment_for.
            stop = of_epoch[index + 1][0] - 1 if index + 1 < len(of_epoch) else last
            start, end = max(start, first), min(segment.epoch_end_offset(epoch), stop, last)
            if start > end:
                continue
            if links and links[-1].segment.id == segment.id and links[-1].end_offset + 1 == start:
                links[-1] = Link(links[-1].start_offset, end, segment)
            else:
                links.append(Link(start, end, segment))
    return RemoteChain(tuple(links))


def highest_copied_offset(
    catalogue: RemoteCatalogue, leader_epochs: Sequence[EpochStart], log_end_offset: int, *, local_start_offset: int
) -> int:
    """The last offset up to which everything local is remote too, -1 for none. Copying continues
    behind it, whichever leader copied so far, and segments up to it may leave the local disk.

    Kafka takes the highest offset that was ever copied. That is the same as long as nothing is
    missing below it. But when remote storage is turned off, which deletes everything remote, and on
    again, Kafka counts segments that are gone. Here a segment counts only while it exists.
    """
    offset = local_start_offset
    for epoch, first, last in _ranges(leader_epochs, log_end_offset):
        while first <= offset <= last:
            segment = catalogue.segment_for(epoch, offset)
            if segment is None:
                break
            offset = min(segment.epoch_end_offset(epoch), last) + 1
    if offset > local_start_offset:
        return offset - 1
    before = local_start_offset - 1
    is_remote = any(
        first <= before <= last and catalogue.segment_for(epoch, before) for epoch, first, last in _ranges(leader_epochs, log_end_offset)
    )
    return before if is_remote else NOTHING_COPIED


def earliest_remote_offset(catalogue: RemoteCatalogue, leader_epochs: Sequence[EpochStart]) -> int | None:
    """Where the remote log begins, which a new leader takes for the log start offset; None when
    nothing is remote.

    Unlike in Kafka, segments that are being deleted do not count: an earlier leader gave them up,
    and the log would promise readers records that are gone.
    """
    for entry in leader_epochs:
        for _, segment in catalogue.referenced(entry.epoch):
            return segment.start_offset
    return None


def is_within(segment: RemoteSegmentMetadata, leader_epochs: Sequence[EpochStart], log_end_offset: int) -> bool:
    """Whether a whole segment belongs to this log's history, as far as the log still remembers it.

    Its epochs must be the log's, each beginning at the same offset, except that the first may have
    begun earlier or later (a segment need not begin with an epoch, and the log may have forgotten
    its oldest offsets); and it ends within its last epoch.
    """
    mine = {entry.epoch: entry.start_offset for entry in written(leader_epochs)}
    theirs = written(segment.leader_epochs)
    if not mine or segment.end_offset >= log_end_offset:
        return False
    oldest = min(mine)
    remembered = [entry for entry in theirs if entry.epoch >= oldest]
    if not remembered:
        return False
    ordered = sorted(mine)
    for index, entry in enumerate(remembered):
        if entry.epoch not in mine:
            return False
        if index == 0 and entry.epoch != oldest and entry.start_offset < mine[entry.epoch]:
            return False
        slot = ordered.index(entry.epoch) + 1
        following = EpochStart(ordered[slot], mine[ordered[slot]]) if slot < len(ordered) else None
        if index + 1 < len(remembered):
            if following != remembered[index + 1]:
                return False
        elif following is not None and segment.end_offset >= following.start_offset:
            return False
    return True


def written(leader_epochs: Sequence[EpochStart]) -> list[EpochStart]:
    """The epochs in which records were written; in an empty one the next begins at the same
    offset."""
    following = [*(entry.start_offset for entry in leader_epochs[1:]), None]
    return [entry for entry, next_start in zip(leader_epochs, following, strict=False) if entry.start_offset != next_start]


def _ranges(leader_epochs: Sequence[EpochStart], log_end_offset: int) -> Iterator[tuple[int, int, int]]:
    """Each epoch with its first and last offset."""
    for index, (epoch, start) in enumerate(leader_epochs):
        end = leader_epochs[index + 1].start_offset if index + 1 < len(leader_epochs) else log_end_offset
        yield epoch, start, end - 1
