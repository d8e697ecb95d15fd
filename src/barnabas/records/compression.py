"""The four codecs of record batches, in the framings that Kafka's clients write and read.

- gzip and zstd are plain streams;
- snappy has two forms: xerial's framing (Java, most others) and one bare block (librdkafka);
  Barnabas writes xerial's, as Java does;
- lz4 is the frame format with independent blocks of 64 KiB. The frame is written by hand here,
  because Java's reader refuses linked blocks, which are the default of the lz4 library.

Decompression never grows past a bound given by the caller: a megabyte from the network can hold
terabytes of zeros.
"""

from __future__ import annotations

import struct
from enum import IntEnum

import cramjam

from barnabas.model.buffers import Buffer


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# The largest batch is 1 MB by default and text compresses tenfold; a factor of a hundred is an
# attack or a test.
DECOMPRESSED_BYTES_MAX = 128 * 1024 * 1024

DEFAULT_LEVELS = {Codec.GZIP: 6, Codec.LZ4: 9, Codec.ZSTD: 3}

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
# Magic, version 1 with independent blocks, 64 KiB block size, and the checksum of those two bytes.
_LZ4_HEADER = bytes.fromhex("04224d18 60 40 82")
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED_BIT = 0x8000_0000
_LZ4_END_MARK = bytes(4)


class DecompressionFailed(ValueError):
    """The compressed part of a batch is damaged, of an unknown codec, or larger than allowed."""


class DecompressionTooLarge(DecompressionFailed):
    """The data may be intact, but it is larger than allowed."""


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data, level=DEFAULT_LEVELS[codec] if level in (None, -1) else level))
        case Codec.SNAPPY:
            return _compress_xerial(data)
        case Codec.LZ4:
            return _compress_lz4(data)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=DEFAULT_LEVELS[codec] if level is None else level))


def decompress(codec: int, data: Buffer, size_bytes_max: int = DECOMPRESSED_BYTES_MAX) -> Buffer:
    """Raises ``DecompressionFailed`` when the data is damaged or would exceed
    ``size_bytes_max``.
    """
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return _inflate(cramjam.gzip, data, size_bytes_max)
        case Codec.SNAPPY:
            return _decompress_snappy(data, size_bytes_max)
        case Codec.LZ4:
            return _inflate(cramjam.lz4, data, size_bytes_max)
        case Codec.ZSTD:
            return _inflate(cramjam.zstd, data, size_bytes_max)
        case _:
            raise DecompressionFailed(f"codec {codec} does not exist")


def _inflate(module: object, data: Buffer, size_bytes_max: int) -> bytearray:
    """Decompress into a buffer of known size, four times larger at every attempt, so that memory
    follows the actual size of the data.
    """
    size = min(size_bytes_max, max(4096, 8 * len(data)))
    while True:
        out = bytearray(size)
        try:
            written = module.decompress_into(data, out)  # type: ignore[attr-defined]
        except cramjam.DecompressionError as error:
            if "write whole buffer" not in str(error):
                raise DecompressionFailed(str(error)) from error
            if size >= size_bytes_max:
                raise DecompressionTooLarge(f"more than {size_bytes_max} bytes after decompression") from error
            size = min(size_bytes_max, size * 4)
            out.clear()  # freed before the next attempt allocates its own
        else:
            del out[written:]
            return out


def _compress_xerial(data: Buffer) -> bytes:
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        out += struct.pack(">i", len(block))
        out += block
    return bytes(out)


def _decompress_snappy(data: Buffer, size_bytes_max: int) -> bytes:
    if bytes(data[:8]) != _XERIAL_MAGIC:
        return _snappy_block(data, size_bytes_max)
    if len(data) < len(_XERIAL_HEADER):
        raise DecompressionFailed("snappy header is cut off")
    out = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + 4 > len(data):
            raise DecompressionFailed("snappy block length is cut off")
        (length,) = struct.unpack_from(">i", data, position)
        position += 4
        if not 0 <= length <= len(data) - position:
            raise DecompressionFailed(f"snappy block of {length} bytes where {len(data) - position} remain")
        out += _snappy_block(data[position : position + length], size_bytes_max - len(out))
        position += length
    return bytes(out)


def _snappy_block(block: Buffer, size_bytes_max: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > size_bytes_max:
            raise DecompressionTooLarge(f"snappy block announces {size} bytes where {size_bytes_max} are allowed")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise DecompressionFailed(str(error)) from error


def _compress_lz4(data: Buffer) -> bytes:
    out = bytearray(_LZ4_HEADER)
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[start : start + _LZ4_BLOCK_BYTES]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            out += struct.pack("<I", len(block))
            out += block
        else:
            out += struct.pack("<I", len(plain) | _LZ4_STORED_BIT)
            out += plain
    out += _LZ4_END_MARK
    return bytes(out)
