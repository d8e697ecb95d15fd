"""Where the batches of a log lie, for comparing its indexes with it: a few numbers a batch, so that a segment of any size fits."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from barnabas.cli.log.dump.entries import Damage
from barnabas.cli.log.dump.segments import read_batches
from barnabas.env.disk import Disk
from barnabas.records.batch_header import BatchHeader


class BatchMap:
    """In the order of the log. ``complete``: nothing lies behind the batches that are known, and nothing is going to."""

    __slots__ = ("_base_offsets", "_last_offsets", "_newest", "_positions", "complete")

    def __init__(self, *, complete: bool = True) -> None:
        self._positions = array("q")
        self._base_offsets = array("q")
        self._last_offsets = array("q")
        self._newest = array("q")  # the largest timestamp up to and with the batch
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
        """The largest timestamp of all; None when there is no batch."""
        return self._newest[-1] if self._newest else None

    def offsets_at(self, position: int) -> tuple[int, int] | None:
        """First and last offset of the batch that begins there."""
        slot = bisect_left(self._positions, position)
        if slot == len(self) or self._positions[slot] != position:
            return None
        return self._base_offsets[slot], self._last_offsets[slot]

    def is_beyond(self, position: int) -> bool:
        """Whether a position lies behind the last batch's beginning."""
        return not self._positions or position > self._positions[-1]

    def newest_up_to(self, offset: int) -> tuple[int | None, int | None]:
        """The largest timestamps of the batches that end at or before ``offset``, and of those that begin there or before."""
        ended = bisect_right(self._last_offsets, offset)
        begun = bisect_right(self._base_offsets, offset)
        return self._newest[ended - 1] if ended else None, self._newest[begun - 1] if begun else None

    def reaches(self, offset: int) -> bool:
        return bool(self._last_offsets) and self._last_offsets[-1] >= offset


def map_batches(disk: Disk, path: str) -> BatchMap:
    """As far as the log goes: where it is damaged is the log's own affair."""
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
