"""The batches of a sealed segment, for a reader in another process.

Files are opened by path: the log may delete the segment meanwhile, and then the open must fail and
not create an empty file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from crc32c import crc32c

from barnabas.env.disk import Disk
from barnabas.records.batch_header import CHECKSUMMED_POSITION, HEADER_BYTES, LENGTH_OVERHEAD_BYTES, read_header
from barnabas.records.batches import CorruptBatch, check_crc, check_shape
from barnabas.storage.compaction.batch_rewrite import Batch
from barnabas.storage.compaction.cleaning_job import CleaningStopped, SourceSegment, Uncleanable
from barnabas.storage.file_names import LOG_SUFFIX, offset_name

# How much is read between two checks whether to stop.
READ_BYTES = 4 * 1024 * 1024


class SourceBatches:
    def __init__(self, disk: Disk, directory: str, *, throttle: Callable[[int], None], should_stop: Callable[[], bool]) -> None:
        self._disk = disk
        self._directory = directory
        self._throttle = throttle
        self._should_stop = should_stop

    def read(self, source: SourceSegment, start_offset: int = 0) -> Iterator[Batch]:
        """From the batch that holds ``start_offset`` on, checksums verified.

        Raises ``Uncleanable`` for a missing or damaged batch, ``CleaningStopped`` when asked to
        stop or when the file became shorter.
        """
        path = f"{self._directory}/{offset_name(source.base_offset)}{LOG_SUFFIX}"
        position, expected = 0, source.base_offset
        while position < source.size_bytes:
            chunk = self._chunk(path, position, source)
            start, end = 0, len(chunk)
            try:
                while end - start >= HEADER_BYTES:
                    header = read_header(chunk, start)
                    check_shape(header, position + start)
                    base_offset, length, _, _, crc, _, last_offset_delta, *_ = header
                    stop = start + length + LENGTH_OVERHEAD_BYTES
                    if stop > end:
                        break
                    if base_offset < expected:
                        raise CorruptBatch(f"offset {base_offset} at position {position + start} follows {expected - 1}")
                    expected = base_offset + last_offset_delta + 1
                    if expected > start_offset:
                        batch = chunk[start:stop]
                        if crc32c(batch[CHECKSUMMED_POSITION:]) != crc:
                            check_crc(batch, header)
                        yield Batch(header, batch)
                    start = stop
                if not start:
                    raise CorruptBatch(f"the batch at position {position} is cut off")
            except CorruptBatch as error:
                raise Uncleanable(f"{path}: {error}") from error
            position += start

    def _chunk(self, path: str, position: int, source: SourceSegment) -> memoryview:
        """One chunk of the file, at least one batch."""
        if self._should_stop():
            raise CleaningStopped("as asked")
        available = source.size_bytes - position
        chunk = self._bytes(path, position, min(READ_BYTES, available))
        if len(chunk) >= HEADER_BYTES and len(chunk) < (first := read_header(chunk).size_bytes) <= available:
            chunk = self._bytes(path, position, first)
        self._throttle(len(chunk))
        return memoryview(chunk)

    def _bytes(self, path: str, position: int, size_bytes: int) -> bytes:
        data = self._disk.read_range(path, position, size_bytes)
        if len(data) < size_bytes:
            raise CleaningStopped(f"{path} ends at {position + len(data)}, not at {position + size_bytes}")
        return data
