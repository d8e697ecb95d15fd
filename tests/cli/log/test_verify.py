"""``log verify``: a directory that our storage wrote is valid, and each kind of damage is found at
its place.
"""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from barnabas.env.real_disk import RealDisk
from barnabas.model.ids import NodeId, TopicPartition, Uuid
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import checksum, seal
from barnabas.records.control_batch import ControlType
from barnabas.records.record import Record
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.meta_properties import MetaProperties, write_meta_properties
from tests.cli.running import Cli
from tests.unit.storage.logs import BATCH_BYTES, NOW_MS, SMALL, append, fill, marker, sent

ORDERS = TopicPartition("orders", 0)
TOPIC_ID = Uuid(bytes(15) + b"\x07")
DIRECTORY_ID = Uuid(bytes(15) + b"\x01")
FIRST, SECOND, LAST = (f"{offset:020d}" for offset in (0, 10, 20))


def lay_out(directory: Path) -> None:
    """Two closed segments of ten batches each and an active one of five; two leaders, and an
    aborted transaction in the second segment."""
    disk = RealDisk()
    directory.mkdir()
    write_meta_properties(disk, str(directory), MetaProperties("a-cluster", NodeId(1), DIRECTORY_ID))
    logs = LogDirectory(disk, str(directory), DIRECTORY_ID)
    log = logs.create(ORDERS, TOPIC_ID, SMALL, now_ms=NOW_MS)
    logs.add(log)
    logs.high_watermarks[ORDERS] = lambda: log.log_end_offset
    fill(log, 8)
    fill(log, 4, leader_epoch=3)
    append(log, sent(7, 0, transactional=True, count=1), leader_epoch=3)
    append(log, marker(7, ControlType.ABORT), leader_epoch=3)
    fill(log, 11, leader_epoch=3)
    log.cleaned_to = 5
    logs.close(broker_epoch=1)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("pristine") / "data"
    lay_out(directory)
    return directory


@pytest.fixture
def data(pristine: Path, tmp_path: Path) -> Path:
    shutil.copytree(pristine, tmp_path / "data")
    return tmp_path / "data"


def findings(path: Path, *words: str, severity: str = "wrong") -> list[dict[str, Any]]:
    done = Cli()("log", "verify", path, *words, "--json")
    document = json.loads(done.out)
    assert done.code == (1 if document["wrong"] else 0), done
    return [each for each in document["findings"] if each["severity"] == severity]


def the_only(path: Path, *words: str, severity: str = "wrong") -> dict[str, Any]:
    (found,) = findings(path, *words, severity=severity)
    return found


def patch(path: Path, position: int, value: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[position : position + len(value)] = value
    path.write_bytes(bytes(data))


def test_a_directory_of_our_storage_is_valid(data: Path) -> None:
    partition = data / "orders-0"
    names = {path.name for path in partition.iterdir()}
    assert {f"{FIRST}.log", f"{SECOND}.log", f"{SECOND}.txnindex", f"{LAST}.snapshot", "leader-epoch-checkpoint"} <= names
    document = Cli()("log", "verify", data, "--deep", "--json").json
    assert document["findings"] == []
    assert (document["directories"], document["partitions"], document["segments"], document["batches"]) == (1, 1, 3, 25)
    assert document["bytes"] == sum(path.stat().st_size for path in partition.glob("*.log"))
    assert Cli()("log", "verify", partition).text.endswith("nothing wrong.\n")


def test_verify_changes_nothing(data: Path) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.rglob("*") if path.is_file()}
    findings(data, "--deep")
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.rglob("*") if path.is_file()} == before


def test_a_finding_names_the_file_the_position_and_the_offset(data: Path) -> None:
    log = data / "orders-0" / f"{FIRST}.log"
    patch(log, 3 * BATCH_BYTES + 70, b"\xff")
    done = Cli()("log", "verify", data)
    assert (done.code, done.err) == (1, "barnabas: 1 thing is wrong.\n")
    first, summary = done.out.decode().splitlines()
    assert first.startswith(f"wrong: {log} at position {3 * BATCH_BYTES}, offset 3: batch at offset 3 has crc ")
    assert summary.endswith(": 1 wrong.")


def test_every_damaged_batch_is_reported_and_no_good_one(data: Path) -> None:
    for number in (2, 5):
        patch(data / "orders-0" / f"{FIRST}.log", number * BATCH_BYTES + 70, b"\xff")
    assert [each["offset"] for each in findings(data)] == [2, 5]


def test_a_truncated_closed_segment_is_an_error(data: Path) -> None:
    log = data / "orders-0" / f"{FIRST}.log"
    log.write_bytes(log.read_bytes()[:-5])
    (found,) = (each for each in findings(data) if each["file"] == str(log))
    assert (found["position"], found["offset"]) == (9 * BATCH_BYTES, 9)
    assert "is cut off after 95" in found["says"]


@pytest.mark.parametrize(
    "tail", [b"\x00" * 500, bytes(build_batch([Record(25, NOW_MS, None, b"x" * 50)], base_offset=25))[:-20], b"\x00\x01"]
)
def test_an_incomplete_write_at_the_end_of_the_active_segment_is_a_note(data: Path, tail: bytes) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    log = data / "orders-0" / f"{LAST}.log"
    end = log.stat().st_size
    log.write_bytes(log.read_bytes() + tail)
    assert findings(data) == []
    noted = the_only(data, severity="note")
    assert (noted["file"], noted["position"], noted["offset"]) == (str(log), end, 25)
    assert "the next start truncates it" in noted["says"]


def test_a_last_batch_without_its_body_is_a_note_only_above_the_recovery_point(data: Path) -> None:
    log = data / "orders-0" / f"{LAST}.log"
    patch(log, log.stat().st_size - 3, b"\xff\xff\xff")
    assert the_only(data)["offset"] == 24
    (data / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 20\n")
    for name in ("replication-offset-checkpoint", f"orders-0/{25:020d}.snapshot"):
        (data / name).unlink()
    assert findings(data) == []
    assert the_only(data, severity="note")["offset"] == 24


def test_garbage_in_the_middle_of_the_active_segment_is_an_error(data: Path) -> None:
    log = data / "orders-0" / f"{LAST}.log"
    patch(log, BATCH_BYTES + 16, b"\x09")
    assert "magic 9" in findings(data)[0]["says"]


@pytest.mark.parametrize(
    ("position", "value", "why"),
    [
        (BATCH_BYTES, struct.pack(">q", 0), "a batch begins at offset 0 where 1 or more must follow"),
        (BATCH_BYTES + 12, struct.pack(">i", 9), "a batch of leader epoch 0 follows one of epoch 9"),
    ],
)
def test_offsets_and_leader_epochs_never_decrease(data: Path, position: int, value: bytes, why: str) -> None:
    """The checksum covers neither, because the broker sets them."""
    patch(data / "orders-0" / f"{FIRST}.log", position, value)
    assert why in [each["says"] for each in findings(data)]


def test_a_segment_starts_at_or_above_its_name(data: Path) -> None:
    partition = data / "orders-0"
    for path in sorted(partition.glob(f"{SECOND}.*")):
        path.rename(partition / path.name.replace(SECOND, f"{11:020d}"))
    says = [each["says"] for each in findings(data)]
    assert "a batch begins at offset 10, below the 11 of the file's name" in says


def test_a_missing_segment_is_reported_as_a_gap_unless_compaction_explains_it(data: Path) -> None:
    partition = data / "orders-0"
    for path in partition.glob(f"{SECOND}.*"):
        path.unlink()
    assert [each["offset"] for each in findings(data, severity="note")] == [10]
    (data / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 20\n")
    assert findings(data, severity="note") == []


def test_a_batch_with_an_epoch_that_the_checkpoint_lacks_is_found(data: Path) -> None:
    checkpoint = data / "orders-0" / "leader-epoch-checkpoint"
    assert checkpoint.read_text() == "0\n2\n0 0\n3 8\n"
    checkpoint.write_text("0\n2\n0 0\n3 9\n")
    found = the_only(data)
    assert (found["offset"], found["position"]) == (8, 8 * BATCH_BYTES)
    assert found["says"] == "a batch has leader epoch 3, but leader-epoch-checkpoint has 0 there"
    checkpoint.write_text("0\n3\n0 0\n3 8\n4 26\n")
    assert the_only(data)["says"] == "epoch 4 begins at 26, above 25, where the log ends"
    checkpoint.write_text("0\n2\n3 0\n0 8\n")
    assert the_only(data)["line"] == 4


OFFSETS, TIMES, ABORTS = struct.Struct(">ii"), struct.Struct(">qi"), struct.Struct(">hqqqq")


@pytest.mark.parametrize(
    ("suffix", "entries", "why"),
    [
        (".index", [OFFSETS.pack(4, 350)], "no batch begins at position 350"),
        (".index", [OFFSETS.pack(2, 400)], "offset 2 is at 400 in the index, where the log has 4 to 4"),
        (".index", [OFFSETS.pack(4, 400), OFFSETS.pack(3, 500)], "offset 3 at 500 follows offset 4 at 400"),
        (".index", [OFFSETS.pack(40, 4000)], "no batch begins at position 4000"),
        (".timeindex", [TIMES.pack(NOW_MS + 4, 8)], f"is {NOW_MS + 4} in the index, but {NOW_MS + 8} in the log"),
        (".timeindex", [TIMES.pack(NOW_MS + 99, 8)], f"is {NOW_MS + 99} in the index, but at most {NOW_MS + 8} in the log"),
        (".timeindex", [TIMES.pack(NOW_MS + 4, 4)], f"its last entry is of {NOW_MS + 4}, but the segment has a record of {NOW_MS + 9}"),
        (".timeindex", [], f"its last entry is of -1, but the segment has a record of {NOW_MS + 9}"),
        (".txnindex", [ABORTS.pack(0, 7, 3, 4, 4)], "entry 0 has an abort of producer 7, but the log has no marker for it"),
        (".txnindex", [b"\x00"], "1 bytes are left, too few for an entry"),
    ],
)
def test_an_index_that_contradicts_its_log_is_found(data: Path, suffix: str, entries: list[bytes], why: str) -> None:
    path = data / "orders-0" / f"{FIRST}{suffix}"
    path.write_bytes(b"".join(entries))
    found = the_only(data)
    assert found["file"] == str(path)
    assert why in found["says"]


def test_an_abort_that_is_missing_in_the_index_is_an_error(data: Path) -> None:
    index = data / "orders-0" / f"{SECOND}.txnindex"
    for damage in (lambda: index.write_bytes(b""), index.unlink):
        damage()
        found = the_only(data)
        assert (found["file"], found["offset"]) == (str(index), 13)
        assert "consumers would receive aborted records" in found["says"]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_missing_index_is_a_note_because_it_can_be_rebuilt(data: Path, suffix: str) -> None:
    path = data / "orders-0" / f"{FIRST}{suffix}"
    path.unlink()
    assert findings(data) == []
    assert the_only(data, severity="note")["file"] == str(path)


def test_preallocated_room_in_an_index_is_not_damage(data: Path) -> None:
    path = data / "orders-0" / f"{LAST}.index"
    path.write_bytes(path.read_bytes() + bytes(4096))
    assert findings(data) == []


def test_producer_snapshots_are_complete_and_not_ahead_of_the_log(data: Path) -> None:
    path = data / "orders-0" / f"{LAST}.snapshot"
    good = path.read_bytes()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert "the checksum does not match" in the_only(data)["says"]
    path.rename(data / "orders-0" / f"{26:020d}.snapshot").write_bytes(good)
    assert the_only(data)["says"] == "it is of offset 26, but the log ends at 25"
    (data / "orders-0" / f"{26:020d}.snapshot").rename(data / "orders-0" / f"{11:020d}.snapshot")
    assert the_only(data)["says"] == "producer 7 has a last offset of 12, which is after the snapshot's offset"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("recovery-point-offset-checkpoint", "0\n1\norders 0 26\n", "it has orders-0 at 26, above 25, where the log ends"),
        ("replication-offset-checkpoint", "0\n1\norders 0 99\n", "it has orders-0 at 99, above 25, where the log ends"),
        ("log-start-offset-checkpoint", "0\n1\norders 0 26\n", "it has orders-0 at 26, above 25, where the log ends"),
        ("cleaner-offset-checkpoint", "0\n1\norders 0 26\n", "it has orders-0 at 26, above 25, where the log ends"),
        ("recovery-point-offset-checkpoint", "0\n2\norders 0 5\norders 0 6\n", "it has orders-0 twice"),
        ("recovery-point-offset-checkpoint", "0\n2\norders 0 5\n", "it announces 2 lines and has 1"),
        ("replication-offset-checkpoint", "\xff\xfe", "it does not begin with a version and a count"),
        ("meta.properties", "version=1\n", "lacks cluster.id"),
        (".kafka_cleanshutdown", "{", "Expecting property name"),
        ("orders-0/partition.metadata", "version: 0\ntopic_id: short", "'short' "),
    ],
)
def test_checkpoints_must_agree_with_the_log(data: Path, name: str, text: str, why: str) -> None:
    (data / name).write_text(text)
    found = the_only(data)
    assert found["file"] == str(data / name)
    assert why in found["says"]


def test_a_directory_without_an_owner_is_found(data: Path) -> None:
    (data / "meta.properties").unlink()
    assert the_only(data)["file"] == str(data / "meta.properties")


def test_checkpoints_count_also_when_only_the_partition_is_verified(data: Path) -> None:
    (data / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 26\n")
    assert the_only(data / "orders-0")["file"] == str(data / "recovery-point-offset-checkpoint")


def test_leftovers_are_listed_as_notes(data: Path) -> None:
    partition, unique = data / "orders-0", "0123456789abcdef" * 2
    for name in (f"{FIRST}.log.deleted", f"{FIRST}.log.cleaned", f"{SECOND}.log.swap", f"{5:020d}.index", "leader-epoch-checkpoint.tmp"):
        (partition / name).write_bytes(b"")
    for mark in ("delete", "stray", "future"):
        shutil.copytree(
            data / "orders-0",
            data / f"other-1.{unique}-{mark}",
            ignore=shutil.ignore_patterns("*.deleted", "*.cleaned", "*.swap", "*.tmp", f"{5:020d}*"),
        )
    (data / "recovery-point-offset-checkpoint").write_text("0\n2\norders 0 25\ngone 3 5\n")
    assert findings(data) == []
    noted = {Path(each["file"]).name: each["says"] for each in findings(data, severity="note")}
    assert noted.keys() == {
        f"{FIRST}.log.deleted",
        f"{FIRST}.log.cleaned",
        f"{SECOND}.log.swap",
        f"{5:020d}.index",
        "leader-epoch-checkpoint.tmp",
        *(f"other-1.{unique}-{mark}" for mark in ("delete", "stray", "future")),
        "recovery-point-offset-checkpoint",
    }
    assert "gone-3, which is not here any more" in noted["recovery-point-offset-checkpoint"]


def test_only_a_deep_scrub_decodes_records(data: Path) -> None:
    log = data / "orders-0" / f"{FIRST}.log"
    batch = bytearray(log.read_bytes()[:BATCH_BYTES])
    batch[61] = 0  # the length of its record
    seal(batch)
    assert checksum(batch) == struct.unpack_from(">I", batch, 17)[0]
    patch(log, 0, bytes(batch))
    assert findings(data) == []
    assert the_only(data, "--deep")["position"] == 0


def test_damaged_cached_indexes_of_remote_segments_are_notes_because_they_are_fetched_again(data: Path) -> None:
    cache = data / "remote-log-index-cache"
    cache.mkdir()
    (cache / "42_AAAAAAAAAAAAAAAAAAAAAQ.index").write_bytes(OFFSETS.pack(5, 100) + OFFSETS.pack(4, 200))
    (cache / "42_AAAAAAAAAAAAAAAAAAAAAQ.timeindex").write_bytes(TIMES.pack(5, 100))
    assert findings(data) == []
    assert Path(the_only(data, severity="note")["file"]).name == "42_AAAAAAAAAAAAAAAAAAAAAQ.index"


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    assert Cli()("log", "verify", tmp_path).complaint == f"{tmp_path} is neither a partition's directory nor a log directory."
    assert "no such directory" in Cli()("log", "verify", tmp_path / "nope").complaint
    (tmp_path / f"{FIRST}.log").write_bytes(b"")
    assert "log dump --deep" in Cli()("log", "verify", tmp_path / f"{FIRST}.log").complaint


def test_a_directory_of_log_directories_is_searched(data: Path) -> None:
    assert Cli()("log", "verify", data.parent, "--json").json["directories"] == 1


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pick=st.integers(0, 10**6), where=st.floats(0, 1), garbage=st.binary(min_size=1, max_size=200), cut=st.booleans())
def test_no_garbage_makes_a_traceback(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory, pick: int, where: float, garbage: bytes, cut: bool
) -> None:
    data = tmp_path_factory.mktemp("garbage") / "data"
    shutil.copytree(pristine, data)
    files = sorted(path for path in data.rglob("*") if path.is_file())
    path = files[pick % len(files)]
    position = int(path.stat().st_size * where)
    patch(path, position, garbage)
    if cut:
        path.write_bytes(path.read_bytes()[: position + len(garbage)])
    done = Cli()("log", "verify", data, "--deep")
    assert done.code in (0, 1)
    assert done.code == 0 or done.complaint
    shutil.rmtree(data)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(0, 19), at=st.integers(21, BATCH_BYTES - 1), bit=st.integers(0, 7))
def test_no_flipped_bit_under_a_checksum_is_missed(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory, number: int, at: int, bit: int
) -> None:
    data = tmp_path_factory.mktemp("bit") / "data"
    shutil.copytree(pristine, data)
    path = data / "orders-0" / f"{FIRST}.log"
    flipped = bytearray(path.read_bytes())
    position = (number % 10) * BATCH_BYTES + at
    flipped[position] ^= 1 << bit
    path.write_bytes(bytes(flipped))
    assert findings(data)[0]["position"] == number % 10 * BATCH_BYTES
    shutil.rmtree(data)
