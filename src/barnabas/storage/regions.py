"""A range of a segment's file, passed from storage to the network without being read."""

from __future__ import annotations

from barnabas.env.disk import DiskFile, HeldFile
from barnabas.wire.types import RecordsSource


class FileRegion(RecordsSource):
    """Record batches on disk; call :meth:`release` after they were sent or will not be sent.

    A region keeps its file open, so that the segment may be deleted in the meantime. The exception
    is when descriptors are scarce: one fetch may ask for more partitions than there are
    descriptors, so the file is then opened when it is sent.
    """

    __slots__ = ("_held", "_size_bytes", "file")

    def __init__(self, file: DiskFile, position: int, size_bytes: int) -> None:
        self.file = file
        self.position = position
        self._size_bytes = size_bytes
        self._held: HeldFile | None = file.hold_if_open()

    def __len__(self) -> int:
        return self._size_bytes

    def descriptor(self) -> int:
        return self._hold().descriptor()

    def read(self) -> bytes:
        return self._hold().read_at(self.position, self._size_bytes)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """``position`` counts from the begin of the region."""
        return self._hold().read_at(self.position + position, size_bytes)

    def part(self, position: int, size_bytes: int) -> FileRegion:
        """A piece of this region, which takes its place; ``position`` counts from its begin."""
        assert position + size_bytes <= self._size_bytes
        self.position += position
        self._size_bytes = size_bytes
        return self

    def _hold(self) -> HeldFile:
        held = self._held
        if held is None:
            held = self._held = self.file.hold()
        return held

    def release(self) -> None:
        self._held = None
