"""``log verify`` of the metadata log, its snapshots and the quorum state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from tests.cli.log.test_verify import findings, patch, the_only
from tests.cli.running import Cli
from tests.waiting import until

METADATA = "__cluster_metadata-0"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a snapshot after every change."""
    directory: Path = tmp_path_factory.mktemp("node") / "data"
    with EmbeddedBroker(data_dir=directory, config={"metadata.log.max.record.bytes.between.snapshots": "1"}) as broker:
        for name in ("a", "b"):
            Cli(broker.bootstrap)("topics", "create", name).worked()
        until(lambda: list((directory / METADATA).glob("*.checkpoint")), "a snapshot is written")
    return directory


@pytest.fixture
def data(pristine: Path, tmp_path: Path) -> Path:
    shutil.copytree(pristine, tmp_path / "data")
    return tmp_path / "data"


def newest_snapshot(data: Path) -> Path:
    return max((data / METADATA).glob("*.checkpoint"))


def the_log(data: Path) -> Path:
    return max((data / METADATA).glob("*.log"))


def test_a_stopped_node_has_no_errors(data: Path) -> None:
    assert findings(data, "--deep") == []


def test_a_damaged_or_incomplete_snapshot_is_found(data: Path) -> None:
    snapshot = newest_snapshot(data)
    good = snapshot.read_bytes()
    patch(snapshot, 70, b"\xff")
    assert the_only(data)["file"] == str(snapshot)
    snapshot.write_bytes(good[: good.rindex(good[-60:])])
    assert the_only(data)["file"] == str(snapshot)
    (data / "bootstrap.checkpoint").write_bytes(b"")
    assert {each["file"] for each in findings(data)} == {str(snapshot), str(data / "bootstrap.checkpoint")}


def test_a_snapshot_that_is_ahead_of_the_log_is_found(data: Path) -> None:
    snapshot = newest_snapshot(data)
    future = snapshot.rename(snapshot.with_name(f"{10**6:020d}-{1:010d}.checkpoint"))
    assert the_only(data)["file"] == str(future)


def test_a_log_whose_start_no_snapshot_covers_is_found(data: Path) -> None:
    for path in (data / METADATA).glob("*.checkpoint"):
        path.unlink()
    log = the_log(data)
    # Without its first batch, as if the log had been truncated after a snapshot.
    rest = log.read_bytes()[read_header(log.read_bytes()).size_bytes :]
    start = read_header(rest).base_offset
    for path in (data / METADATA).glob(f"{log.stem}.*"):
        path.unlink()
    for suffix, content in ((".log", rest), (".index", b""), (".timeindex", b"")):
        (data / METADATA / f"{start:020d}{suffix}").write_bytes(content)
    assert f"the log begins at {start}, and no complete snapshot covers the offsets before it" in [each["says"] for each in findings(data)]


def test_a_quorum_state_with_an_old_epoch_is_found(data: Path) -> None:
    state = data / METADATA / "quorum-state"
    state.write_text(state.read_text().replace('"leaderEpoch":1', '"leaderEpoch":0'))
    assert the_only(data)["says"] == "it is at epoch 0, but the log has batches of epoch 1"
    state.write_text("{")
    assert "cannot be read" in the_only(data)["says"]


def test_a_gap_in_the_metadata_is_always_an_error(data: Path) -> None:
    log = the_log(data)
    content = log.read_bytes()
    second = read_header(content).size_bytes
    third = second + read_header(content, second).size_bytes
    log.write_bytes(content[:second] + content[third:])
    assert any("are missing" in each["says"] for each in findings(data))


def test_a_deep_scrub_finds_records_that_are_not_metadata(data: Path) -> None:
    log = the_log(data)
    content = log.read_bytes()
    # After the first batch, which names the leader.
    position = read_header(content).size_bytes
    header = read_header(content, position)
    base_offset = header.base_offset
    records = [Record(base_offset + each, header.max_timestamp, None, b"not metadata") for each in range(header.last_offset_delta + 1)]
    other = build_batch(records, base_offset=base_offset, leader_epoch=header.leader_epoch)
    log.write_bytes(content[:position] + other + content[position + header.size_bytes :])
    for path in (log.with_suffix(".index"), log.with_suffix(".timeindex")):
        path.write_bytes(b"")
    assert findings(data) == []
    assert "metadata record cannot be read" in the_only(data, "--deep")["says"]


def test_a_running_node_has_no_errors(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path, config={"metadata.log.max.record.bytes.between.snapshots": "1"}) as broker:
        Cli(broker.bootstrap)("topics", "create", "a").worked()
        assert findings(tmp_path, "--deep") == []
