"""A stretch of a segment's file, handed from storage to the network without being read."""

from __future__ import annotations

from barnabas.env.disk import DiskFile, HeldFile
from barnabas.wire.types import RecordsSource


class FileRegion(RecordsSource):
    """Record batches on disk; :meth:`release` when they have been sent or given up.

    A region keeps its file open, so that the segment may be deleted in the meantime. Not where descriptors are scarce: one fetch may
    ask for more partitions than there are descriptors, so there the file is opened when its turn to be sent comes."""

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

    def _hold(self) -> HeldFile:
        held = self._held
        if held is None:
            held = self._held = self.file.hold()
        return held

    def release(self) -> None:
        self._held = None
