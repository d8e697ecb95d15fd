"""Walking over concatenated batches without opening them: in a request, in a chunk read from a
segment, in a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import HEADER_BYTES, LENGTH_OVERHEAD_BYTES, MAGIC, BatchHeader, checksum, read_header


class CorruptBatch(ValueError):
    """Bytes that cannot be a batch, with their position and the reason."""


def walk(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Positions and headers of the whole batches in ``buffer``; stops before an incomplete one.

    Raises ``CorruptBatch`` for an invalid header, because the next batch cannot be found then.
    """
    end = len(buffer)
    while end - position >= HEADER_BYTES:
        header = read_header(buffer, position)
        check_shape(header, position)
        if position + header.size_bytes > end:
            return
        yield position, header
        position += header.size_bytes


def check_shape(header: BatchHeader, position: int) -> None:
    """Check that a header is possible at all, before its values are used."""
    if header.batch_length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES:
        raise CorruptBatch(f"batch at position {position} has length {header.batch_length}")
    if header.magic != MAGIC:
        raise CorruptBatch(f"batch at position {position} has magic {header.magic}, not {MAGIC}")
    if header.last_offset_delta < 0 or header.base_offset < 0:
        raise CorruptBatch(f"batch at position {position} spans offsets {header.base_offset} to {header.last_offset}, which is not a range")


def check_crc(batch: Buffer, header: BatchHeader) -> None:
    computed = checksum(batch)
    if computed != header.crc:
        raise CorruptBatch(f"batch at offset {header.base_offset} has crc {header.crc:08x} but its {len(batch)} bytes give {computed:08x}")
