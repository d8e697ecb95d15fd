"""The files are Kafka's: the same batches leave the same bytes, and the same damage is recovered to
the same bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.records.record import open_batch
from barnabas.storage.producer_snapshot import decode_snapshot
from peers.apache_kafka import why_missing
from tests.conformance.storage.oracle import LogOracle, log_oracle
from tests.conformance.storage.same_log import CONFIG, SCRIPTS, batches, files, open_ours, transactions, write_kafkas, write_ours
from tests.unit.storage.logs import NOW_MS, all_batches

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

# Kafka creates an empty file of epochs while there are none; we create no file then.
NO_EPOCHS = b""


@pytest.fixture(scope="module")
def kafka() -> Iterator[LogOracle]:
    with log_oracle() as oracle:
        yield oracle


def comparable(directory: Path, *, snapshots: bool = True) -> dict[str, Any]:
    """All files of a partition except those marked for removal, which Kafka removes a minute later
    and we remove at once.

    In a snapshot Kafka orders producers by a hash table, and we by their first appearance.
    """
    found: dict[str, Any] = {"leader-epoch-checkpoint": NO_EPOCHS, **files(directory)}
    found = {name: content for name, content in found.items() if not name.endswith(".deleted")}
    for name in list(found):
        if name.endswith(".snapshot"):
            content = found.pop(name)
            if snapshots:
                found[name] = sorted(decode_snapshot(content), key=lambda producer: producer.producer_id)
    return found


def our_records(log: Any) -> list[list[Any]]:
    rows = []
    for batch in all_batches(log):
        for record in open_batch(batch):
            key, value = (None if part is None else part.hex() for part in (record.key, record.value))
            rows.append([record.offset, record.timestamp, key, value])
    return rows


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_same_batches_leave_the_same_files(script: str, kafka: LogOracle, tmp_path: Path) -> None:
    for side in ("ours", "kafkas"):
        (tmp_path / side).mkdir()
    ours, kafkas = tmp_path / "ours" / "topic-0", tmp_path / "kafkas" / "topic-0"
    write_ours(ours, SCRIPTS[script]())
    write_kafkas(kafka, kafkas, SCRIPTS[script]())
    assert comparable(ours) == comparable(kafkas)


def test_producer_snapshots_are_equal_where_the_producers_are_in_kafkas_order(kafka: LogOracle, tmp_path: Path) -> None:
    for side in ("ours", "kafkas"):
        (tmp_path / side).mkdir()
    ours, kafkas = tmp_path / "ours" / "topic-0", tmp_path / "kafkas" / "topic-0"
    script = SCRIPTS["idempotent_producers"]
    write_ours(ours, script())
    write_kafkas(kafka, kafkas, script())
    assert files(ours) == files(kafkas)
    assert any(name.endswith(".snapshot") for name in files(ours))


@pytest.mark.parametrize("script", SCRIPTS)
def test_kafka_opens_our_closed_log_and_reads_the_same(script: str, kafka: LogOracle, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    log = write_ours(directory, SCRIPTS[script]())
    kafka.open(directory, CONFIG, clean=True, recovery_point=log.log_end_offset, now_ms=NOW_MS)
    state = kafka.ask("state")
    kafka.ask("close")
    again = open_ours(directory)
    assert (state["log_start_offset"], state["log_end_offset"]) == (0, log.log_end_offset)
    assert state["segments"] == [segment.base_offset for segment in again.segments]
    assert state["records"] == our_records(again)
    again.abandon()


@pytest.mark.parametrize("script", SCRIPTS)
def test_we_open_kafkas_closed_log_and_read_the_same(script: str, kafka: LogOracle, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    write_kafkas(kafka, directory, SCRIPTS[script](), close=False)
    state = kafka.ask("state")
    kafka.ask("close")
    before = comparable(directory)
    log = open_ours(directory)
    assert log.log_end_offset == state["log_end_offset"]
    assert our_records(log) == state["records"]
    log.close()
    assert comparable(directory) == before, "opening and closing changes nothing"


@pytest.mark.parametrize("writer", ["ours", "kafkas"])
@pytest.mark.parametrize("wreck", ["as it was", "torn", "zeros behind", "a bit in the middle", "no indexes", "garbage behind"])
def test_a_damaged_directory_is_recovered_to_the_same_bytes(wreck: str, writer: str, kafka: LogOracle, tmp_path: Path) -> None:
    """A process is killed; its directory, damaged in one of several ways, is recovered by us, and a
    copy of it by Kafka."""
    origin = tmp_path / "topic-0"
    script = transactions() + batches(20, first=200, epoch=2)
    if writer == "ours":
        write_ours(origin, script, close=False).abandon()
    else:
        write_kafkas(kafka, origin, script, close=False)
        kafka.ask("flush")
    damage(origin, wreck)
    for side in ("ours", "kafkas"):
        shutil.copytree(origin, tmp_path / side / "topic-0")
    ours, kafkas = tmp_path / "ours" / "topic-0", tmp_path / "kafkas" / "topic-0"

    kafka.open(kafkas, CONFIG, clean=False, now_ms=NOW_MS)
    state = kafka.ask("state")
    kafka.ask("close")
    log = open_ours(ours, clean=False)
    assert log.log_end_offset == state["log_end_offset"]
    assert our_records(log) == state["records"]
    log.close()
    # Kafka keeps a snapshot of every segment that it recovered, and we keep only that of the end.
    assert without_empty(comparable(ours, snapshots=False)) == without_empty(comparable(kafkas, snapshots=False))
    last = f"{log.log_end_offset:020d}.snapshot"
    assert comparable(ours)[last] == comparable(kafkas)[last]


def without_empty(found: dict[str, Any]) -> dict[str, Any]:
    """Where a transaction index has become empty, one program leaves the file and the other removes
    it."""
    return {name: content for name, content in found.items() if content or not name.endswith(".txnindex")}


def damage(directory: Path, wreck: str) -> None:
    logs = sorted(directory.glob("*.log"))
    last, middle = logs[-1], logs[len(logs) // 2]
    content = last.read_bytes()
    match wreck:
        case "torn":
            last.write_bytes(content[:-9])
        case "zeros behind":
            last.write_bytes(content + bytes(5000))
        case "garbage behind":
            last.write_bytes(content + b"\xa5" * 777)
        case "a bit in the middle":
            damaged = bytearray(middle.read_bytes())
            damaged[len(damaged) // 2] ^= 4
            middle.write_bytes(damaged)
        case "no indexes":
            for path in directory.glob("*index"):
                path.unlink()


@pytest.mark.parametrize("back", [1, 7, 30, 200])
def test_a_truncated_log_has_the_same_files(back: int, kafka: LogOracle, tmp_path: Path) -> None:
    for side in ("ours", "kafkas"):
        (tmp_path / side).mkdir()
    ours, kafkas = tmp_path / "ours" / "topic-0", tmp_path / "kafkas" / "topic-0"
    script = SCRIPTS["transactions"]() + batches(20, first=300, epoch=4)
    log = write_ours(ours, script, close=False)
    write_kafkas(kafka, kafkas, script, close=False)
    # A truncation always begins at the start of a batch.
    cut = max(first for first in header_offsets(log) if first <= log.log_end_offset - back)
    log.truncate_to(cut)
    kafka.ask("truncate", offset=cut)
    state = kafka.ask("state")
    assert (log.log_end_offset, our_records(log)) == (state["log_end_offset"], state["records"])
    log.close()
    kafka.ask("close")
    expected = comparable(kafkas)
    # Where the truncation falls on the beginning of a segment, Kafka keeps that segment, empty, and
    # we continue in the one before.
    empty = {name.removesuffix(".log") for name, content in expected.items() if name.endswith(".log") and not content}
    expected = {name: content for name, content in expected.items() if not (name.split(".")[0] in empty and not name.endswith("snapshot"))}
    assert without_empty(comparable(ours)) == without_empty(expected)


def header_offsets(log: Any) -> list[int]:
    return [header.base_offset for segment in log.segments for _, header in segment.headers()]
