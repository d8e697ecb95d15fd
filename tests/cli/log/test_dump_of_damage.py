"""Damaged files: the dump shows the good part, then one sentence names the place of the damage."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import seal
from barnabas.records.compression import Codec
from barnabas.records.record import Record
from barnabas.storage.producer_snapshot import encode_snapshot
from barnabas.storage.producer_state import Producer
from tests.cli.running import Cli, Finished

SEGMENT = "00000000000000000000.log"


def batch(base_offset: int, *, codec: Codec = Codec.NONE, timestamp: int = 1000) -> bytearray:
    records = [Record(base_offset + index, timestamp, b"key", b"value of a record") for index in range(3)]
    return build_batch(records, base_offset=base_offset, codec=codec)


def three_batches() -> bytes:
    return bytes(batch(0) + batch(3, codec=Codec.LZ4) + batch(6))


def dump(path: Path, *words: str) -> Finished:
    return Cli()("log", "dump", path, *words, "--json")


def shown(done: Finished) -> int:
    return len(done.out.splitlines())


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


SIZE = len(batch(0))


def test_a_truncated_log_is_shown_up_to_its_end(tmp_path: Path) -> None:
    second = SIZE + len(batch(3, codec=Codec.LZ4))
    done = dump(write(tmp_path / SEGMENT, three_batches()[:-5]))
    assert shown(done) == 2
    assert done.complaint == f"{tmp_path}/{SEGMENT} is damaged at position {second}: a batch of {SIZE} bytes is cut off after {SIZE - 5}."


def test_fewer_bytes_than_a_header_are_not_a_batch(tmp_path: Path) -> None:
    done = dump(write(tmp_path / SEGMENT, bytes(batch(0)) + bytes(30)))
    assert shown(done) == 1
    assert done.complaint.endswith(f"is damaged at position {SIZE}: 30 bytes are left, too few for a batch.")


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (8, struct.pack(">i", 5), "the batch has length 5"),
        (16, b"\x01", "the batch has magic 1, not 2"),
        (0, struct.pack(">q", -9), "spans offsets -9 to -7, which is not a range"),
        (0, struct.pack(">q", 1), "a batch begins at offset 1 where 3 or more must follow"),
    ],
)
def test_an_invalid_header_ends_the_log(tmp_path: Path, at: int, value: bytes, why: str) -> None:
    damaged = bytearray(three_batches())
    damaged[SIZE + at : SIZE + at + len(value)] = value
    done = dump(write(tmp_path / SEGMENT, bytes(damaged)))
    assert shown(done) == 1
    assert f"is damaged at position {SIZE}: " in done.complaint
    assert why in done.complaint


def test_a_deep_dump_finds_a_flipped_bit_in_a_body(tmp_path: Path) -> None:
    damaged = bytearray(three_batches())
    damaged[SIZE + 70] ^= 1
    path = write(tmp_path / SEGMENT, bytes(damaged))
    assert shown(dump(path).worked()) == 3
    for words in (("--deep",), ("--records",)):
        done = dump(path, *words)
        assert len([line for line in done.out.splitlines() if json.loads(line)["kind"] == "batch"]) == 1
        assert f"is damaged at position {SIZE}: batch at offset 3 has crc" in done.complaint


def test_an_invalid_batch_with_a_valid_checksum_is_found(tmp_path: Path) -> None:
    wrong = batch(0)
    struct.pack_into(">i", wrong, 57, 2)
    seal(wrong)
    assert "bytes remain after the last of 2 records" in dump(write(tmp_path / SEGMENT, bytes(wrong)), "--deep").complaint
    twice = batch(0)
    second = 61 + 1 + twice[61] // 2
    twice[second + 3] = 0  # behind its length, attributes and timestamp delta
    seal(twice)
    assert "record 0 follows 0 in a batch of offsets 0 to 2" in dump(write(tmp_path / SEGMENT, bytes(twice)), "--deep").complaint
    late = batch(0)
    struct.pack_into(">q", late, 35, 5)
    seal(late)
    assert "a record has timestamp 1000" in dump(write(tmp_path / SEGMENT, bytes(late)), "--deep").complaint


def test_a_log_that_starts_before_its_name_is_damaged(tmp_path: Path) -> None:
    done = dump(write(tmp_path / "00000000000000000005.log", bytes(batch(0))))
    assert "begins at offset 0 where 5 or more must follow" in done.complaint


def test_invalid_metadata_records_are_damage(tmp_path: Path) -> None:
    (tmp_path / "__cluster_metadata-0").mkdir()
    done = dump(write(tmp_path / "__cluster_metadata-0" / SEGMENT, three_batches()))
    assert "is damaged at position 0: metadata record cannot be read" in done.complaint
    done = dump(write(tmp_path / "00000000000000000003-0000000001.checkpoint", b""))
    assert done.complaint.endswith("is damaged at position 0: it ends without the footer that a finished snapshot has.")


def test_invalid_group_records_are_damage(tmp_path: Path) -> None:
    for record, why in (
        (Record(0, 0, None, b"x"), "without a type"),
        (Record(0, 0, b"\x00\x02\x00\x01g", b"x"), "no room for a version"),
        (Record(0, 0, b"\x00\x02\x00\x01g", b"\x00\x09"), "GroupMetadataValue"),
    ):
        done = dump(write(tmp_path / SEGMENT, bytes(build_batch([record]))), "--as", "groups")
        assert "is damaged at position 0: " in done.complaint
        assert why in done.complaint


OFFSETS = struct.Struct(">ii")
TIMES = struct.Struct(">qi")
ABORTS = struct.Struct(">hqqqq")


@pytest.mark.parametrize(
    ("name", "data", "good", "where", "why"),
    [
        (".index", OFFSETS.pack(5, 100) + OFFSETS.pack(4, 200), 1, "position 8", "offset 4 at 200 follows offset 5 at 100"),
        (".index", OFFSETS.pack(5, 100) + b"\x00\x00\x01", 1, "position 8", "3 bytes are left"),
        (".timeindex", TIMES.pack(50, 1) + TIMES.pack(50, 2), 1, "position 12", "time 50 of offset 2 follows time 50 of offset 1"),
        (".timeindex", TIMES.pack(50, 1) + b"\x01", 1, "position 12", "1 bytes are left"),
        (
            ".txnindex",
            ABORTS.pack(0, 1, 2, 3, 4) + ABORTS.pack(0, 1, 2, 3, 4),
            1,
            "position 34",
            "an abort of offsets 2 to 3 follows",
        ),
        (".txnindex", ABORTS.pack(9, 1, 2, 3, 4), 0, "position 0", "an aborted transaction of version 9"),
        (".txnindex", ABORTS.pack(0, 1, 2, 3, 4) + b"\x00", 1, "position 34", "1 bytes are left"),
    ],
)
def test_an_index_is_shown_up_to_the_first_invalid_entry(tmp_path: Path, name: str, data: bytes, good: int, where: str, why: str) -> None:
    done = dump(write(tmp_path / f"00000000000000000000{name}", data))
    assert shown(done) == good
    assert f"is damaged at {where}: {why}" in done.complaint


@pytest.mark.parametrize(
    ("name", "entry", "why"),
    [
        (".index", OFFSETS.pack(5, 1), "no batch begins at position 1 of the log"),
        (".index", OFFSETS.pack(2, SIZE), f"offset 2 is at {SIZE} in the index, where the log has 3 to 5"),
        (".timeindex", TIMES.pack(999, 8), "the largest timestamp up to offset 8 is 999 in the index, but 1000 in the log"),
    ],
)
def test_a_deep_dump_finds_an_index_that_contradicts_its_log(tmp_path: Path, name: str, entry: bytes, why: str) -> None:
    write(tmp_path / SEGMENT, three_batches())
    index = write(tmp_path / f"00000000000000000000{name}", entry)
    dump(index).worked()
    assert f"is damaged at position 0: {why}" in dump(index, "--deep").complaint


def test_a_deep_dump_accepts_an_index_that_agrees_with_its_log(tmp_path: Path) -> None:
    write(tmp_path / SEGMENT, three_batches())
    assert shown(dump(write(tmp_path / "00000000000000000000.index", OFFSETS.pack(5, SIZE)), "--deep").worked()) == 1
    assert shown(dump(write(tmp_path / "00000000000000000000.timeindex", TIMES.pack(1000, 8)), "--deep").worked()) == 1


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: data[:4], "4 bytes are too few"),
        (lambda data: b"\x00\x07" + data[2:], "version 7 is not 1"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "the checksum does not match"),
    ],
)
def test_a_damaged_producer_snapshot_shows_no_producers(tmp_path: Path, damage: Callable[[bytes], bytes], why: str) -> None:
    whole = encode_snapshot([Producer(5, 0), Producer(6, 1)])
    path = tmp_path / "00000000000000000009.snapshot"
    assert shown(dump(write(path, whole)).worked()) == 2
    done = dump(write(path, damage(whole)))
    assert shown(done) == 0
    assert f"is damaged at position 0: {why}" in done.complaint


@pytest.mark.parametrize(
    ("name", "text", "good", "where"),
    [
        ("recovery-point-offset-checkpoint", "0\n2\norders 0 5\norders one 6\n", 1, "line 4: 'orders one 6' is not an entry"),
        ("replication-offset-checkpoint", "0\n3\norders 0 5\norders 1 6\n", 2, "line 1: it announces 3 lines and has 2"),
        ("log-start-offset-checkpoint", "7\n1\norders 0 5\n", 1, "line 1: it does not begin with a version and a count"),
        ("cleaner-offset-checkpoint", "garbage", 0, "line 1: it does not begin with a version and a count"),
        ("leader-epoch-checkpoint", "0\n2\n3 10\n2 20\n", 1, "line 4: epoch 2 from offset 20 follows epoch 3 from offset 10"),
        ("leader-epoch-checkpoint", "0\n1\n3\n", 0, "line 3: '3' is not an entry"),
        ("partition.metadata", "version: 0\ntopic_id: short", 0, "line 2: 'short' "),
        ("partition.metadata", "version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", 0, "line 1: version 1 is not 0"),
        ("partition.metadata", "hello", 0, "line 1: 'hello' is not a name and a value"),
        ("meta.properties", "version=1\nnode.id=1\n", 1, "line 1: lacks cluster.id"),
        ("meta.properties", "a=\\u1", 0, "line 1: In a properties file"),
        ("quorum-state", "{", 0, "position 0: quorum-state cannot be read"),
        (".kafka_cleanshutdown", "{", 0, "position 0: "),
        (".kafka_cleanshutdown", "[]", 0, "position 0: not a JSON object"),
    ],
)
def test_a_text_file_is_shown_up_to_the_first_invalid_line(tmp_path: Path, name: str, text: str, good: int, where: str) -> None:
    done = dump(write(tmp_path / name, text.encode()))
    assert shown(done) == good
    assert f"{tmp_path}/{name} is damaged at {where}" in done.complaint


def test_every_damaged_file_of_a_directory_is_reported_and_the_good_ones_are_shown(tmp_path: Path) -> None:
    write(tmp_path / SEGMENT, three_batches()[:-5])
    write(tmp_path / "leader-epoch-checkpoint", b"0\n1\n0 0\n")
    write(tmp_path / "quorum-state", b"")
    done = dump(tmp_path)
    assert (done.code, shown(done)) == (1, 3)
    assert [line.split(" is damaged at ")[0] for line in done.err.splitlines()] == [
        f"barnabas: {tmp_path}/{SEGMENT}",
        f"barnabas: {tmp_path}/quorum-state",
    ]


KINDS = [
    SEGMENT,
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000000.snapshot",
    "00000000000000000003-0000000001.checkpoint",
    "leader-epoch-checkpoint",
    "recovery-point-offset-checkpoint",
    "partition.metadata",
    "meta.properties",
    "quorum-state",
    ".kafka_cleanshutdown",
]


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(KINDS), data=st.binary(max_size=300))
def test_random_bytes_never_make_a_traceback(tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    path = write(tmp_path_factory.mktemp("any") / name, data)
    done = dump(path, "--deep", "--records")
    assert done.code == 0 or done.complaint


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, len(three_batches()) - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_is_found_and_makes_no_traceback(tmp_path_factory: pytest.TempPathFactory, at: int, bit: int) -> None:
    data = bytearray(three_batches())
    data[at] ^= 1 << bit
    done = dump(write(tmp_path_factory.mktemp("bit") / SEGMENT, bytes(data)), "--deep", "--records")
    within = next(at - start for start in (SIZE + len(batch(3, codec=Codec.LZ4)), SIZE, 0) if at >= start)
    # The checksum does not cover base offset and leader epoch, because the broker sets them.
    assert done.code == 1 or within < 16
    assert done.code == 0 or done.complaint
