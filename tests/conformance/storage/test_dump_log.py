"""``kafka-dump-log`` reads every file that we write, and reports no error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.records.record import open_batch
from barnabas.storage.producer_snapshot import decode_snapshot
from peers.apache_kafka import why_missing
from tests.conformance.storage.oracle import LogOracle, log_oracle
from tests.conformance.storage.same_log import SCRIPTS, open_ours, write_ours
from tests.unit.storage.logs import all_batches

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

COMPLAINTS = re.compile(r"(?i)mismatch|isvalid: false|non-consecutive|out of order|invalid|corrupt|could not|exception|not found|error")
# The tool counts from -1 in every file, and so reports a gap before every segment but the first, in
# Kafka's own files too.
QUIRK = re.compile(r"Non-consecutive offsets in \S+/0*(\d+)\.log\n  -1 is followed by \1\n")


@pytest.fixture(scope="module")
def kafka() -> Iterator[LogOracle]:
    with log_oracle() as oracle:
        yield oracle


@pytest.fixture(scope="module", params=SCRIPTS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("logs") / "topic-0"
    write_ours(directory, SCRIPTS[request.param]())
    return directory


def paths(directory: Path, suffix: str) -> str:
    return ",".join(str(path) for path in sorted(directory.glob(f"*{suffix}")))


def dumped(kafka: LogOracle, directory: Path, suffix: str, *options: str) -> str:
    text = QUIRK.sub("", kafka.dump(*options, "--files", paths(directory, suffix)))
    assert not COMPLAINTS.search(text), text
    assert text.count("Dumping ") == len(list(directory.glob(f"*{suffix}")))
    return text


def test_every_record_of_every_segment_is_read(written: Path, kafka: LogOracle) -> None:
    text = dumped(kafka, written, ".log", "--deep-iteration", "--print-data-log")
    log = open_ours(written)
    ours = all_batches(log)
    log.abandon()
    assert re.findall(r"^baseOffset: .* isvalid: (\w+)$", text, re.MULTILINE) == ["true"] * len(ours)
    records = [record for batch in ours for record in open_batch(batch)]
    assert re.findall(r"^\| offset: (\d+) ", text, re.MULTILINE) == [str(record.offset) for record in records]
    read = dict(re.findall(r"^\| offset: (\d+) .* key: .* payload: (.*)$", text, re.MULTILINE))
    for record in records:
        if record.value and record.value.startswith(b"value-"):
            assert read[str(record.offset)] == record.value.decode()


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_every_index_agrees_with_its_log(suffix: str, written: Path, kafka: LogOracle) -> None:
    dumped(kafka, written, suffix)
    assert not COMPLAINTS.search(kafka.dump("--verify-index-only", "--files", paths(written, suffix)))
    sane = dumped(kafka, written, suffix, "--index-sanity-check")
    assert len(re.findall(r"passed sanity check|is empty\.$", sane, re.MULTILINE)) == len(list(written.glob(f"*{suffix}")))


def test_every_aborted_transaction_is_read(kafka: LogOracle, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    log = write_ours(directory, SCRIPTS["transactions"]())
    ours = [each for segment in log.segments for each in segment.transaction_index.entries()]
    assert len(ours) > 5
    text = dumped(kafka, directory, ".txnindex")
    found = re.findall(r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)", text)
    assert [tuple(map(int, each)) for each in found] == [tuple(each) for each in ours]


@pytest.mark.parametrize("script", ["none", "idempotent_producers", "transactions"])
def test_every_snapshot_is_read(script: str, kafka: LogOracle, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    write_ours(directory, SCRIPTS[script]())
    text = dumped(kafka, directory, ".snapshot")
    producers = [producer for path in sorted(directory.glob("*.snapshot")) for producer in decode_snapshot(path.read_bytes())]
    assert re.findall(r"^producerId: (\d+) producerEpoch: (\d+) ", text, re.MULTILINE) == [
        (str(producer.producer_id), str(producer.epoch)) for producer in producers
    ]


@pytest.mark.parametrize(("suffix", "position"), [(".index", 5), (".timeindex", 6), (".log", 70)])
def test_the_tool_reports_a_damaged_file(suffix: str, position: int, kafka: LogOracle, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    write_ours(directory, SCRIPTS["none"]())
    path = min(directory.glob(f"*{suffix}"))
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    assert COMPLAINTS.search(kafka.dump("--files", str(path)))
