"""Apache Kafka's cleaner and ours on the same bytes: the same batches survive, each opens the logs
that the other has cleaned, and Kafka's tools report no error.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from barnabas.cli.log.dump.read_only_disk import ReadOnlyDisk
from barnabas.cli.log.verify.directory_scrub import scrub_log_directory
from barnabas.cli.log.verify.findings import Scrub
from barnabas.records.batch_header import DELETE_HORIZON_BIT
from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, run_tool, why_missing
from tests.conformance.compaction.on_disk import is_cleaned, segments, survivors
from tests.conformance.compaction.workload import TOPICS, TRANSACTIONS, Written, live, make_topics, read_back, write_stage
from tests.conformance.storage.test_dump_log import COMPLAINTS, QUIRK
from tests.waiting import until

pytestmark = [
    pytest.mark.java,
    pytest.mark.soak,
    pytest.mark.skipif(why_missing() is not None, reason=why_missing() or ""),
]

STAGES = 4
CLEANING = {"log.cleaner.backoff.ms": "100", "offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
NOT_CLEANING = CLEANING | {"log.cleaner.backoff.ms": "100000000"}
# The tool reports the gaps that a cleaned log has between its batches.
GAPS = re.compile(r"Non-consecutive offsets in \S+\n(  -?\d+ is followed by \d+\n)+")


@contextmanager
def barnabas(data: Path, config: dict[str, str]) -> Iterator[str]:
    with EmbeddedBroker(process=True, data_dir=data, config=config) as broker:
        yield broker.bootstrap
        assert broker.complaints == ""


@contextmanager
def kafka(data: Path, config: dict[str, str]) -> Iterator[str]:
    with apache_kafka(data, extra=config, format_storage=False) as (bootstrap, _):
        yield bootstrap


@dataclass
class Two:
    """The same directory, cleaned by each program."""

    ours: Path
    kafkas: Path
    written: Written
    started_ms: int

    def each(self) -> Iterator[tuple[Path, AbstractContextManager[str]]]:
        yield self.ours, barnabas(self.ours, CLEANING)
        yield self.kafkas, kafka(self.kafkas, CLEANING)


def await_cleaned(data: Path) -> None:
    for topic in TOPICS:
        until(partial(is_cleaned, data, topic), f"{topic} in {data.name} is compacted")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Two:
    root = tmp_path_factory.mktemp("compaction")
    two = Two(root / "ours", root / "kafkas", Written(), int(time.time() * 1000))
    two.ours.mkdir()
    with barnabas(two.ours, NOT_CLEANING) as bootstrap:
        # Long enough that no tombstone expires in the first pass of one program and not of the
        # other.
        make_topics(bootstrap, delete_retention_ms="2000")
        for stage in range(STAGES):
            write_stage(bootstrap, stage, two.written, two.started_ms)
    shutil.copytree(two.ours, two.kafkas)
    for data, broker in two.each():
        with broker:
            await_cleaned(data)
    return two


@pytest.mark.parametrize("topic", TOPICS)
def test_the_same_batches_and_records_survive(two: Two, topic: str) -> None:
    ours, kafkas = survivors(two.ours / f"{topic}-0"), survivors(two.kafkas / f"{topic}-0")
    assert ours == kafkas
    # Only the last sequence numbers are left of the producers of earlier stages; transactional
    # producers are the same in all stages.
    assert any(not each.records for each in ours) or topic == TRANSACTIONS
    assert any(each.attributes & DELETE_HORIZON_BIT for each in ours)


@pytest.mark.parametrize("topic", TOPICS)
def test_segments_are_merged_alike(two: Two, topic: str) -> None:
    assert [path.name for path in segments(two.ours / f"{topic}-0")] == [path.name for path in segments(two.kafkas / f"{topic}-0")]


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex"])
def test_kafkas_tool_reports_no_error(two: Two, suffix: str) -> None:
    files = sorted(path for topic in TOPICS for path in (two.ours / f"{topic}-0").glob(f"*{suffix}"))
    text = run_tool("org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(map(str, files)))
    text = QUIRK.sub("", text)
    assert text.count("Dumping ") == len(files)
    assert not COMPLAINTS.search(GAPS.sub("", text)), text[:4000]


def test_a_scrub_finds_no_error_in_either_directory(two: Two) -> None:
    for data, _ in two.each():
        scrub = Scrub(deep=True)
        scrub_log_directory(scrub, ReadOnlyDisk(), str(data))
        assert [each.text for each in scrub.wrong] == []
        assert scrub.batches > 300


def test_each_program_opens_the_others_cleaned_log_and_both_continue_alike(two: Two, tmp_path: Path) -> None:
    """The programs swap directories. Tombstones and markers that have expired go in the next pass
    of both."""
    ours, kafkas = tmp_path / "ours", tmp_path / "kafkas"
    shutil.copytree(two.kafkas, ours)
    shutil.copytree(two.ours, kafkas)
    handed = Two(ours, kafkas, two.written, two.started_ms)
    read = {}
    for data, broker in handed.each():
        with broker as bootstrap:
            again = Written({topic: dict(last) for topic, last in two.written.last.items()})
            before = {topic: read_back(bootstrap, topic) for topic in TOPICS}
            write_stage(bootstrap, STAGES, again, two.started_ms)
            write_stage(bootstrap, STAGES + 1, again, two.started_ms)
            await_cleaned(data)
            read[data] = before, {topic: read_back(bootstrap, topic) for topic in TOPICS}
        for topic in TOPICS:
            assert live({key: value for _, key, value in read[data][1][topic]}) == live(again.last[topic])
    assert read[ours][0] == read[kafkas][0]
    # The order of the new records depends on how two producers happened to send them, and the
    # number of passes, and so which of the last tombstones were seen twice, depends on timing.
    for topic in TOPICS:
        values = [{(key, value) for _, key, value in read[data][1][topic] if value is not None} for data in (ours, kafkas)]
        assert values[0] == values[1]
    early = {offset for offset, _, value in read[ours][0][TRANSACTIONS] if value is None}
    assert early
    assert not early & {offset for offset, *_ in read[ours][1][TRANSACTIONS]}
