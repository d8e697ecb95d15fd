from __future__ import annotations

import io
import json
from typing import Any

import cramjam
import fastavro
import pytest
from hypothesis import given, strategies as st

from barnabas.console.core.decoding.avro_container import MAGIC, OBJECTS_MAX, NotAContainer, read_container
from barnabas.console.core.decoding.detection import decode
from barnabas.schemas.avro.data_writing import write_long

SCHEMA = {
    "type": "record",
    "name": "Order",
    "namespace": "acme",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}],
}


def _file(objects: list[Any], codec: str = "null", **options: Any) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA, objects, codec=codec, **options)
    return out.getvalue()


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", "snappy"])
def test_a_container_of_fastavro_is_read_with_its_codec(codec: str) -> None:
    objects = [{"id": each, "note": None if each % 2 else "x" * each} for each in range(200)]
    found = read_container(_file(objects, codec, sync_interval=500))
    assert (found.name, found.codec, found.objects, found.objects_total) == ("acme.Order", codec, objects, 200)


def test_a_container_compressed_with_zstandard_is_read() -> None:
    """fastavro needs a package of its own for this codec, so the block is compressed here."""
    block = io.BytesIO()
    fastavro.schemaless_writer(block, SCHEMA, {"id": 1, "note": "y" * 60})
    packed = bytes(cramjam.zstd.compress(block.getvalue()))
    text = json.dumps(SCHEMA).encode()
    entries = (b"avro.schema", text), (b"avro.codec", b"zstandard")
    metadata = _long(2) + b"".join(_long(len(part)) + part for entry in entries for part in entry) + _long(0)
    data = MAGIC + metadata + bytes(16) + _long(1) + _long(len(packed)) + packed + bytes(16)
    assert read_container(data).objects == [{"id": 1, "note": "y" * 60}]


def _long(value: int) -> bytes:
    out = bytearray()
    write_long(out, value)
    return bytes(out)


def test_a_long_container_shows_its_first_objects_and_says_so() -> None:
    made = decode(_file([{"id": each, "note": None} for each in range(OBJECTS_MAX + 5)]), characters_max=10**6)
    assert made.format == "avro-file"
    assert made.schema == "avro file of acme.Order, codec null"
    assert len(json.loads(made.text)) == OBJECTS_MAX
    assert made.problem == f"Only the first {OBJECTS_MAX} of {OBJECTS_MAX + 5} objects are shown."


def test_a_broken_container_is_hex_with_a_reason() -> None:
    data = _file([{"id": 1, "note": "a"}])
    for broken in (data[:-1], data[:-16] + bytes(16), MAGIC, MAGIC + b"\x02\x80", data + b"\x02"):
        with pytest.raises(NotAContainer):
            read_container(broken)
        made = decode(broken)
        assert made.format == "hex"
        assert made.problem is not None
        assert made.problem.startswith("The bytes begin as an Avro object container file, but cannot be read as one: ")


def test_a_block_that_would_grow_without_bound_is_refused() -> None:
    data = _file([{"id": 1, "note": "z" * 17 * 1024 * 1024}], "deflate")
    with pytest.raises(NotAContainer, match="more than 16777216 bytes"):
        read_container(data)


@given(st.binary(max_size=300))
def test_no_bytes_after_the_magic_end_the_process(data: bytes) -> None:
    assert decode(MAGIC + data).format in ("avro-file", "hex", "messagepack", "protobuf", "number")
