"""Records and batches for tests, both fixed and random."""

from __future__ import annotations

from hypothesis import settings, strategies as st

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import HEADER_BYTES, read_header, seal, write_header
from barnabas.records.compression import Codec
from barnabas.records.record import Record

NOW_MS = 1_700_000_000_000

repeatable = settings(derandomize=True, database=None, deadline=None)

# Lengths on both sides of where a zig-zag number grows by a byte.
contents = st.one_of(st.none(), st.binary(max_size=40), st.sampled_from([63, 64, 65, 8191, 8192]).map(bytes))
headers = st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=5))), max_size=3).map(tuple)
timestamps = st.integers(min_value=-1, max_value=2**62)


def records(*, min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[list[Record]]:
    """Records at offsets 0, 1, 2 and so on, as a producer numbers them."""
    parts = st.lists(st.tuples(timestamps, contents, contents, headers), min_size=min_size, max_size=max_size)
    return parts.map(lambda rows: [Record(offset, *row) for offset, row in enumerate(rows)])


def plain_records(count: int, *, timestamp: int = NOW_MS, value: bytes = b"value", key: bytes | None = b"key") -> list[Record]:
    return [Record(offset, timestamp + offset, key, value) for offset in range(count)]


def plain_batch(count: int = 3, *, codec: Codec = Codec.NONE, timestamp: int = NOW_MS, key: bytes | None = b"key") -> bytearray:
    return build_batch(plain_records(count, timestamp=timestamp, key=key), codec=codec)


def with_header(batch: bytearray, **changes: int) -> bytearray:
    """The same batch with another header and a valid checksum."""
    changed = bytearray(batch)
    write_header(changed, read_header(changed)._replace(**changes))
    if "crc" not in changes:
        seal(changed)
    return changed


def with_body(batch: bytearray, body: bytes) -> bytearray:
    """The same batch with other records and a valid length and checksum."""
    return with_header(batch[:HEADER_BYTES] + body, batch_length=HEADER_BYTES - 12 + len(body))
