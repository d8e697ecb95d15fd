"""The snapshots of producers in one log's directory, and the state that they and the batches give.

A snapshot at an offset holds the producers as of that offset. To know the producers at a later
offset, :func:`restore` reads the latest snapshot below it, and :func:`replay` the batches behind
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.env.disk import Disk, out_of_room
from barnabas.storage.producer_snapshot import list_snapshots, read_snapshot, snapshot_path, write_snapshot
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.segment import Segment

_NONE = -1


class ProducerSnapshots:
    __slots__ = ("_directory", "_disk", "_written_offset")

    def __init__(self, disk: Disk, directory: str, *, empty_up_to: int) -> None:
        """A log that is empty up to ``empty_up_to`` has no producers to write there."""
        self._disk = disk
        self._directory = directory
        self._written_offset = empty_up_to

    def write(self, offset: int, producers: ProducerState) -> None:
        """The producers as of ``offset``, unless that snapshot exists."""
        if self._written_offset == offset:
            return
        try:
            write_snapshot(self._disk, self._directory, offset, producers)
        except OSError as error:
            # On a full disk there is one snapshot less, and the next start replays more.
            if not out_of_room(error):
                raise
            return
        self._written_offset = offset

    def forget_written(self) -> None:
        """The state has changed without a batch: the next :meth:`write` writes."""
        self._written_offset = _NONE

    def rebuild(
        self, producers: ProducerState, segments: Iterable[Segment], *, start: int, end: int, found: Sequence[int] | None = None
    ) -> None:
        """The producers as of ``end``, the log end offset, into ``producers``. ``start`` is the log
        start offset; ``found`` are the offsets of the snapshots on the disk, if they are known."""
        kept = self.drop(keep_below=end + 1, found=found)
        self._written_offset = begin = restore(self._disk, self._directory, kept, producers, default=start)
        replay(segments, producers, begin)

    def drop(self, *, keep_below: int, found: Sequence[int] | None = None) -> list[int]:
        """Remove the others; the offsets of those that stay, in order."""
        offsets = list_snapshots(self._disk, self._directory) if found is None else found
        dropped = [offset for offset in offsets if offset >= keep_below]
        for offset in dropped:
            self._disk.remove(snapshot_path(self._directory, offset))
        if dropped:
            # They describe batches that are gone. If one came back after a crash, and the log had
            # grown past it again, the next start would believe it.
            self._disk.sync_directory(self._directory)
        self._written_offset = _NONE
        return [offset for offset in offsets if offset < keep_below]

    def moved_to(self, directory: str) -> None:
        self._directory = directory


def restore(disk: Disk, directory: str, offsets: Sequence[int], producers: ProducerState, *, default: int) -> int:
    """Fill ``producers`` from the last snapshot of ``offsets`` that can be read; its offset, or
    ``default`` without one. Corrupt snapshots are removed."""
    producers.clear()
    for offset in reversed(offsets):
        try:
            for producer in read_snapshot(disk, directory, offset):
                producers.restore(producer)
        except ValueError:
            producers.clear()
            disk.remove(snapshot_path(directory, offset))
            continue
        return offset
    return default


def replay(segments: Iterable[Segment], producers: ProducerState, start: int) -> None:
    """Replay the batches from ``start`` on."""
    for segment in segments:
        if segment.next_offset <= start:
            continue
        for position, header in segment.headers():
            if header.last_offset >= start and header.producer_id >= 0:
                batch = segment.read_batch(position, header) if header.control else b""
                producers.replay(header, batch, header.base_offset)
