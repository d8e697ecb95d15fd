"""Kafka's own readers on every file of a Barnabas directory: dump-log, the reader behind the
metadata shell, and the storage tool.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import free_port, java_program, server_properties, why_missing, write_properties
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.directories.test_journeys import SETTINGS, await_new_snapshot, snapshots
from tests.conformance.directories.world import TOPIC, TOPICS, World
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

DUMP = "org.apache.kafka.tools.DumpLogSegments"
STORAGE = "kafka.tools.StorageTool"
# The words with which dump-log reports an error in a file; it continues after each.
COMPLAINTS = ("mismatch", "Non-consecutive", "Found ", "Exception", "corrupt", "invalid", "Could not", "out of order")
# Dump-log 4.3 finds a gap before every segment that does not begin at 0, in Kafka's own files as in
# ours.
FIRST_OF_SEGMENT = re.compile(r"Non-consecutive offsets in \S+/0*(\d+)\.log\n  -1 is followed by \1\n")


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


@pytest.fixture(scope="module", params=["stop", "kill"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that Barnabas wrote and left, cleanly or by a kill."""
    directory = tmp_path_factory.mktemp("written")
    world = World()
    with EmbeddedBroker(process=True, data_dir=directory, config=SETTINGS) as node:
        world.found(node.bootstrap)
        world.write(node.bootstrap)
        await_new_snapshot(directory, set())
        world.write(node.bootstrap)
        _change_until_all_is_in_a_snapshot(world, node.bootstrap, directory)
        getattr(node, request.param)()
        if request.param == "kill":
            # Recovery repairs the files of the first kill, and then the second kill again leaves
            # nothing closed.
            world.killed = True
            node.start()
            world.verify(node.bootstrap)
            node.kill()
    return directory


def _change_until_all_is_in_a_snapshot(world: World, bootstrap: str, directory: Path) -> None:
    before, new = snapshots(directory), set[str]()
    changes = count(200_000_000)

    def written() -> bool:
        world.set(bootstrap, TOPIC, "grown", {"segment.ms": str(next(changes))})
        new.update(snapshots(directory) - before)
        # The first snapshot may have been begun before.
        return len(new) > 1

    until(written, "what was said is in a snapshot")


def dumped(tools: Tools, files: list[Path], *options: str) -> str:
    """The output of dump-log, which must contain no error."""
    assert files, "there is nothing to dump"
    ended = tools.try_run(DUMP, *options, "--files", ",".join(map(str, files)))
    assert ended.status == 0, ended.out + ended.err
    assert FIRST_OF_SEGMENT.sub("", ended.err).strip() == ""
    for line in ended.out.splitlines():
        # The contents of records are not words of dump-log.
        words = line.partition(" payload: ")[0]
        assert not any(complaint in words for complaint in COMPLAINTS), line[:500]
    return ended.out


def of_topics(data: Path, suffix: str) -> list[Path]:
    return sorted(path for path in data.glob(f"*/*{suffix}") if not path.parent.name.startswith("__"))


def test_dump_log_reads_every_segment(tools: Tools, data: Path) -> None:
    printed = dumped(tools, of_topics(data, ".log"), "--deep-iteration", "--print-data-log")
    assert printed.count("isvalid: true") == printed.count("baseOffset: ")
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        assert f"compresscodec: {codec}" in printed
    assert "value 2 0" in printed
    assert len(of_topics(data, ".log")) > len(TOPICS) + 4, "some topic has several segments"


def test_dump_log_finds_every_index_consistent(tools: Tools, data: Path) -> None:
    for suffix in (".index", ".timeindex"):
        dumped(tools, of_topics(data, suffix), "--index-sanity-check")
        dumped(tools, of_topics(data, suffix), "--verify-index-only")
        dumped(tools, of_topics(data, suffix))


def test_dump_log_passes_the_indexes_of_active_segments(tools: Tools, tmp_path: Path) -> None:
    """Kafka preallocates them, so to its tool they are never empty while it runs."""

    def passed(topic: str) -> None:
        indexes = [tmp_path / f"{topic}-0" / f"{0:020d}{suffix}" for suffix in (".index", ".timeindex")]
        assert dumped(tools, indexes, "--index-sanity-check").count("passed sanity check.") == 2
        dumped(tools, indexes, "--verify-index-only")

    def produce(bootstrap: str, topic: str, count: int) -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "batch.num.messages": 1})
        for number in range(count):
            producer.produce(topic, b"%d " % number * 100)
        assert producer.flush(PATIENCE_SECONDS) == 0

    with EmbeddedBroker(process=True, data_dir=tmp_path, config=SETTINGS) as node:
        for topic, count in (("one-record", 1), ("two-entries", 60)):
            produce(node.bootstrap, topic, count)
            passed(topic)
        node.stop()
        node.start()
        produce(node.bootstrap, "one-record", 1)
        passed("one-record")
        node.kill()
        passed("one-record")
        node.start()
        passed("one-record")
        passed("two-entries")


def test_dump_log_reads_every_producer_snapshot(tools: Tools, data: Path) -> None:
    found = [path for path in data.glob("*/*.snapshot") if path.stat().st_size > 0]
    printed = dumped(tools, sorted(found))
    # Rolled logs always have a snapshot; producers without an id are not in it.
    assert printed.count("Dumping") == len(found)


def test_dump_log_decodes_the_metadata_log(tools: Tools, data: Path) -> None:
    logs = sorted((data / "__cluster_metadata-0").glob("*.log"))
    printed = dumped(tools, logs, "--cluster-metadata-decoder")
    assert "LeaderChange" in printed
    kinds = set(re.findall(r'"type":"(\w+)"', printed))
    assert {
        "FEATURE_LEVEL_RECORD",
        "REGISTER_BROKER_RECORD",
        "REGISTER_CONTROLLER_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
        "REMOVE_TOPIC_RECORD",
        "BEGIN_TRANSACTION_RECORD",
        "END_TRANSACTION_RECORD",
    } <= kinds
    for suffix in (".index", ".timeindex"):
        dumped(tools, sorted((data / "__cluster_metadata-0").glob(f"*{suffix}")), "--index-sanity-check")


def test_dump_log_decodes_metadata_snapshots_and_the_bootstrap_records(tools: Tools, data: Path) -> None:
    checkpoints = sorted((data / "__cluster_metadata-0").glob("*.checkpoint"))
    printed = dumped(tools, checkpoints, "--cluster-metadata-decoder")
    assert printed.count("SnapshotHeader") == printed.count("SnapshotFooter") == len(checkpoints)
    assert '"type":"TOPIC_RECORD"' in printed
    first = dumped(tools, [data / "bootstrap.checkpoint"], "--cluster-metadata-decoder")
    assert '"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":30}' in first


def test_the_reader_of_the_metadata_shell_sees_the_same_cluster(data: Path) -> None:
    newest = sorted((data / "__cluster_metadata-0").glob("*.checkpoint"))[-1]
    program = Path(__file__).with_name("SnapshotShell.java")
    done = subprocess.run(java_program(program, str(newest)), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["metadata.version"] == "4.3-IV0"
    assert (seen["brokers"], seen["controllers"]) == ([1], [1])
    assert set(TOPICS) <= set(seen["topics"])
    assert seen["topics"]["grown"] == 3
    assert "doomed" not in seen["topics"]
    # The second is written by the first controller: eligible leaders need a minimum that all
    # brokers share.
    assert seen["configs"]["BROKER "] == {"log.cleaner.threads": "2", "min.insync.replicas": "1"}
    assert seen["configs"]["TOPIC compacted"] == {"cleanup.policy": "compact"}
    assert seen["configs"]["GROUP travellers"] == {"consumer.session.timeout.ms": "50000"}


def test_the_storage_tool_accepts_the_directory(tools: Tools, data: Path, tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    write_properties(properties, server_properties(data, free_port(), free_port()))
    printed = tools.run(STORAGE, "info", "-c", properties)
    assert "Found log directory" in printed
    assert "node.id=1" in printed.replace(" ", "")
    again = tools.try_run(STORAGE, "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", properties)
    assert again.status != 0, "a directory of another cluster is not formatted again"
