"""A stretch of a segment's file, handed from storage to the network without being read."""

from __future__ import annotations

from barnabas.env.disk import DiskFile
from barnabas.wire.types import RecordsSource


class FileRegion(RecordsSource):
    """Record batches on disk. Whoever holds one holds the file open; :meth:`release` when it has been sent or given up."""

    __slots__ = ("_size_bytes", "file")

    def __init__(self, file: DiskFile, position: int, size_bytes: int) -> None:
        self.file = file
        self.position = position
        self._size_bytes = size_bytes
        file.pin()

    def __len__(self) -> int:
        return self._size_bytes

    def descriptor(self) -> int:
        return self.file.descriptor()

    def read(self) -> bytes:
        return self.file.read_at(self.position, self._size_bytes)

    def release(self) -> None:
        self.file.unpin()
