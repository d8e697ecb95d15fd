"""The batches of a sealed segment, for who reads all of it in another process: by path, because the segment's owner may throw it away
meanwhile, and then its file must be missed, not made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.env.disk import Disk
from barnabas.records.batch_header import HEADER_BYTES, read_header
from barnabas.records.batches import CorruptBatch, check_crc, check_shape
from barnabas.storage.compaction.batch_rewrite import Batch
from barnabas.storage.compaction.cleaning_job import CleaningStopped, SourceSegment, Uncleanable
from barnabas.storage.file_names import LOG_SUFFIX, offset_name

READ_BYTES = 4 * 1024 * 1024


class SourceBatches:
    def __init__(self, disk: Disk, directory: str, *, throttle: Callable[[int], None], should_stop: Callable[[], bool]) -> None:
        self._disk = disk
        self._directory = directory
        self._throttle = throttle
        self._should_stop = should_stop

    def read(self, source: SourceSegment, start_offset: int = 0) -> Iterator[Batch]:
        """From the batch that holds ``start_offset`` on, checksums verified.

        ``Uncleanable`` where there is no batch as there should be, ``CleaningStopped`` when asked to or when the file became shorter.
        """
        path = f"{self._directory}/{offset_name(source.base_offset)}{LOG_SUFFIX}"
        position, expected = 0, source.base_offset
        while position < source.size_bytes:
            chunk = self._chunk(path, position, READ_BYTES, source)
            if len(chunk) >= HEADER_BYTES:
                header = read_header(chunk)
                if header.size_bytes > len(chunk):
                    chunk = self._chunk(path, position, header.size_bytes, source)
            try:
                read_bytes = 0
                for batch in _batches_of(chunk, position, expected):
                    if self._should_stop():
                        raise CleaningStopped("as asked")
                    read_bytes += len(batch.data)
                    expected = batch.header.last_offset + 1
                    if expected > start_offset:
                        check_crc(batch.data, batch.header)
                        yield batch
                if not read_bytes:
                    raise CorruptBatch(f"the batch at position {position} is cut off")
            except CorruptBatch as wrong:
                raise Uncleanable(f"{path}: {wrong}") from wrong
            position += read_bytes

    def _chunk(self, path: str, position: int, size_bytes: int, source: SourceSegment) -> memoryview:
        size_bytes = min(size_bytes, source.size_bytes - position)
        chunk = self._disk.read_range(path, position, size_bytes)
        if len(chunk) < size_bytes:
            raise CleaningStopped(f"{path} had {source.size_bytes} bytes and has {position + len(chunk)}")
        self._throttle(size_bytes)
        return memoryview(chunk)


def _batches_of(chunk: memoryview, position: int, expected: int) -> Iterator[Batch]:
    """The whole batches of a chunk that was read from ``position``, in rising offsets from ``expected`` on."""
    start = 0
    while len(chunk) - start >= HEADER_BYTES:
        header = read_header(chunk, start)
        check_shape(header, position + start)
        stop = start + header.size_bytes
        if stop > len(chunk):
            return
        if header.base_offset < expected:
            raise CorruptBatch(f"offset {header.base_offset} at position {position + start} follows {expected - 1}")
        yield Batch(header, chunk[start:stop])
        start, expected = stop, header.last_offset + 1
