"""The positions of the batches of a log, to compare its indexes with: a few numbers a batch, so
that a segment of any size fits into memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from barnabas.cli.log.dump.entries import Damage
from barnabas.cli.log.dump.segments import read_batches
from barnabas.env.disk import Disk
from barnabas.records.batch_header import BatchHeader


class BatchMap:
    """Batches in the order of the log. ``complete``: no batch follows the known ones, and none
    will."""

    __slots__ = ("_base_offsets", "_last_offsets", "_newest", "_positions", "complete")

    def __init__(self, *, complete: bool = True) -> None:
        self._positions = array("q")
        self._base_offsets = array("q")
        self._last_offsets = array("q")
        self._newest = array("q")  # the largest timestamp up to and including the batch
        self.complete = complete

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, position: int, header: BatchHeader) -> None:
        newest = max(self._newest[-1], header.max_timestamp) if self._newest else header.max_timestamp
        self._positions.append(position)
        self._base_offsets.append(header.base_offset)
        self._last_offsets.append(header.last_offset)
        self._newest.append(newest)

    @property
    def newest(self) -> int | None:
        """The largest timestamp of all batches; None when there is no batch."""
        return self._newest[-1] if self._newest else None

    def offsets_at(self, position: int) -> tuple[int, int] | None:
        """First and last offset of the batch that begins at ``position``."""
        slot = bisect_left(self._positions, position)
        if slot == len(self) or self._positions[slot] != position:
            return None
        return self._base_offsets[slot], self._last_offsets[slot]

    def is_beyond(self, position: int) -> bool:
        """Whether a position is past the beginning of the last batch."""
        return not self._positions or position > self._positions[-1]

    def newest_up_to(self, offset: int) -> tuple[int | None, int | None]:
        """The largest timestamp of the batches that end at or before ``offset``, and of those that
        begin at or before it."""
        ended = bisect_right(self._last_offsets, offset)
        begun = bisect_right(self._base_offsets, offset)
        return self._newest[ended - 1] if ended else None, self._newest[begun - 1] if begun else None

    def reaches(self, offset: int) -> bool:
        return bool(self._last_offsets) and self._last_offsets[-1] >= offset


def map_batches(disk: Disk, path: str) -> BatchMap:
    """Maps the batches up to the first damage, which a dump of the log itself reports."""
    found = BatchMap()
    file = disk.open(path)
    try:
        for batch in read_batches(file):
            found.add(batch.position, batch.header)
    except Damage:
        found.complete = False
    finally:
        file.close()
    return found
