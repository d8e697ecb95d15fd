"""Avro's object container files: values that carry their schema with them.

A file is the magic bytes ``Obj`` and 1, a map of metadata, a sync marker of 16 bytes, and blocks.
A block is the number of its objects, the size of its data, the data, compressed by the codec that
the metadata name, and the sync marker again.

Bytes are a container only if everything fits, up to the last sync marker.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from barnabas.records.compression import Codec, DecompressionFailed, decompress
from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.data_reading import Cursor, read_long, reader_of, within
from barnabas.schemas.errors import DoesNotDecode, InvalidSchema

MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
# The console shows values of people; a file of a million objects in one record is shown in part.
OBJECTS_MAX: Final = 1_000
# A block of a few bytes may grow to gigabytes.
_BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024
_METADATA_MAX: Final = 1_000
# Readers that are kept: each record of a topic usually repeats the schema of the one before.
_READERS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class AvroContainer:
    name: str
    """The name of the schema, or its type."""
    codec: str
    objects: list[Any]
    objects_total: int

    @property
    def is_cut(self) -> bool:
        return self.objects_total > len(self.objects)


class NotAContainer(ValueError):
    """The bytes begin as a container and do not go on as one. The sentence says why."""


def read_container(data: bytes) -> AvroContainer:
    """Raises :class:`NotAContainer`."""
    try:
        return _read(data)
    except (DoesNotDecode, IndexError) as error:
        raise NotAContainer(str(within(error, ""))) from None
    except InvalidSchema as error:
        raise NotAContainer(f"Its schema cannot be read: {error}") from None


def _read(data: bytes) -> AvroContainer:
    cursor = Cursor(data)
    cursor.at = len(MAGIC)
    metadata = _read_metadata(cursor)
    name, read = _reader(metadata.get("avro.schema", b"").decode("utf-8", "replace"))
    codec = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
    sync = _take(cursor, _SYNC_BYTES)
    objects: list[Any] = []
    total = 0
    while cursor.at < len(data):
        count, size = read_long(cursor), read_long(cursor)
        if count < 0:
            raise DoesNotDecode(f"a block claims {count} objects")
        block = _take(cursor, size)
        if _take(cursor, _SYNC_BYTES) != sync:
            raise DoesNotDecode("a block does not end with the sync marker")
        total += count
        wanted = min(count, OBJECTS_MAX - len(objects))
        if wanted:
            objects += _objects(read, _inflated(codec, block), count, wanted)
    return AvroContainer(name, codec, objects, total)


def _objects(read: Callable[[Cursor], object], block: bytes, count: int, wanted: int) -> list[object]:
    cursor = Cursor(block)
    found = [read(cursor) for _ in range(wanted)]
    if wanted == count and cursor.at < len(block):
        raise DoesNotDecode(f"{len(block) - cursor.at} bytes follow the objects of a block")
    return found


def _read_metadata(cursor: Cursor) -> dict[str, bytes]:
    metadata: dict[str, bytes] = {}
    while count := read_long(cursor):
        if count < 0:
            # A negative count is followed by the size of the part, which only serves to skip it.
            read_long(cursor)
        if abs(count) + len(metadata) > _METADATA_MAX:
            raise DoesNotDecode(f"the metadata claim {abs(count)} entries")
        for _ in range(abs(count)):
            name = _take(cursor, read_long(cursor)).decode("utf-8", "replace")
            metadata[name] = _take(cursor, read_long(cursor))
    return metadata


def _take(cursor: Cursor, size: int) -> bytes:
    end = cursor.at + size
    if size < 0 or end > len(cursor.data):
        raise DoesNotDecode(f"the data claims {size} bytes, and {len(cursor.data) - cursor.at} are left")
    taken, cursor.at = cursor.data[cursor.at : end], end
    return taken


@lru_cache(_READERS_MAX)
def _reader(text: str) -> tuple[str, Callable[[Cursor], object]]:
    schema = AvroSchema.parse(text, stored=True)
    return schema.record_name or "", reader_of(schema.root, schema.root, logical_types=True)


def _inflated(codec: str, block: bytes) -> bytes:
    try:
        match codec:
            case "null":
                return block
            case "deflate":
                return _bounded(zlib.decompressobj(-15), block)
            case "bzip2":
                return _bounded(bz2.BZ2Decompressor(), block)
            case "xz":
                return _bounded(lzma.LZMADecompressor(), block)
            case "zstandard":
                return bytes(decompress(Codec.ZSTD, block, _BLOCK_BYTES_MAX))
            case "snappy":
                # A CRC-32 of the data follows the block.
                return bytes(decompress(Codec.SNAPPY, block[:-4], _BLOCK_BYTES_MAX))
    except (DecompressionFailed, zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        raise DoesNotDecode(f"a block cannot be decompressed: {error}") from None
    raise DoesNotDecode(f"its codec {codec} is unknown")


def _bounded(decompressor: Any, block: bytes) -> bytes:
    out: bytes = decompressor.decompress(block, _BLOCK_BYTES_MAX)
    if not decompressor.eof:
        raise DoesNotDecode(f"a block ends early, or has more than {_BLOCK_BYTES_MAX} bytes")
    return out
