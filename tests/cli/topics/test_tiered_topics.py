"""The output of the tools for a topic whose older part is remote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.scenarios.client import Client
from tests.scenarios.tiered.tiered_broker import RECORDS_PER_SEGMENT, TIERED, fill, tiered_broker, wait_until_settled
from tests.waiting import until

SEGMENTS = 4


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def broker(store: Path) -> Iterator[EmbeddedBroker]:
    with tiered_broker(store) as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("large", 1, TIERED)
            fill(client, "large", SEGMENTS)
            wait_until_settled(client, "large", SEGMENTS)
            # Read once, so that the cache has indexes.
            until(lambda: client.fetch("large", offset=37).records, "the remote part is read")
        yield kafka


def test_describe_shows_the_start_of_the_local_log_and_the_last_remote_offset(broker: EmbeddedBroker) -> None:
    cli = Cli(broker.bootstrap)
    (topic,) = cli("topics", "describe", "large", "--json").json
    (partition,) = topic["partitions"]
    local, last = partition["remote"]["local_start_offset"], partition["remote"]["last_offset"]
    assert partition["start_offset"] == 0
    assert 0 < local <= last < partition["end_offset"]
    local_logs = list(Path(broker.data_dir).glob("large-0/*.log"))
    assert partition["size_bytes"] == sum(path.stat().st_size for path in local_logs)
    head, row = cli("topics", "describe", "large").text.splitlines()[-2:]
    assert head.split("  ")[-1].strip() == "Last remote"
    assert row.split()[-2:] == [str(local), str(last)]


def test_a_topic_without_remote_storage_shows_nothing_remote(broker: EmbeddedBroker) -> None:
    cli = Cli(broker.bootstrap)
    cli("topics", "create", "plain").worked()
    (topic,) = cli("topics", "describe", "plain", "--json").json
    assert [each["remote"] for each in topic["partitions"]] == [None]
    assert "remote" not in cli("topics", "describe", "plain").text


def test_the_files_show_the_local_part_and_the_remote_store_the_rest(broker: EmbeddedBroker, store: Path) -> None:
    (partition,) = Cli()("log", "info", Path(broker.data_dir) / "large-0", "--json").json
    assert partition["local_start_offset"] > 0
    remote = Cli()("log", "dump", store, "--json").json_lines
    batches = [each for each in remote if each["kind"] == "batch"]
    assert {each["base_offset"] for each in batches} >= set(range(0, partition["local_start_offset"], 10))
    assert {each["kind"] for each in remote} >= {"batch", "offset", "time", "leader_epoch"}


def test_metadata_of_remote_segments_is_dumped_and_the_node_has_no_errors(broker: EmbeddedBroker) -> None:
    dumped = [
        each
        for path in sorted(Path(broker.data_dir).glob("__remote_log_metadata-*"))
        for each in Cli()("log", "dump", path, "--json").json_lines
        if each["kind"] == "named_record"
    ]
    started = [each["fields"]["start_offset"] for each in dumped if each["type"] == "RemoteLogSegmentMetadataRecord"]
    assert started[:2] == [0, RECORDS_PER_SEGMENT]
    assert Cli()("log", "verify", broker.data_dir, "--deep", "--json").json["wrong"] == 0
    assert list(Path(broker.data_dir).glob("remote-log-index-cache/*.index"))
