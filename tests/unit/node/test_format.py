"""Formatting directories: all or none, none of another cluster, and the first records inside."""

from __future__ import annotations

from random import Random

import pytest

from barnabas.controller.core.bootstrap import bootstrap_records
from barnabas.model.ids import NodeId, parse_uuid
from barnabas.node.format import FormatRefused, Formatted, format_directories, read_bootstrap
from barnabas.node.initial_voters import WrongVoters, parse_initial_voters
from barnabas.quorum.core.control_history import BOOTSTRAP_OFFSET, KRaftVersionAt, VotersAt
from barnabas.quorum.core.log_outline import EMPTY
from barnabas.quorum.core.voters import SUPPORTED_KRAFT_VERSIONS, Endpoint, ReplicaKey, Voter
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.security.sasl.add_scram import parse_add_scram
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import read_meta_properties
from barnabas.wire.metadata_records import UserScramCredentialRecord
from tests.unit.controller.core.deciding import CLUSTER_ID, Dice

LISTENER = "CONTROLLER"
ONE = "Mzk5MjQ1YjQtMjVmNC00Nw"
TWO = "NzU4ZjA2YzQtYzQ5Ni00OA"
OTHER_CLUSTER = "Another-cluster-id----"


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(0))


def format_(disk: SimulatedDisk, *paths: str, cluster_id: str = CLUSTER_ID, node_id: int = 1, ignore: bool = False) -> list[Formatted]:
    return format_directories(
        disk, paths, cluster_id=cluster_id, node_id=NodeId(node_id), entropy=Dice(), now_ms=5, ignore_formatted=ignore
    )


def test_a_new_directory_gets_an_identity_of_its_own_and_the_first_records(disk: SimulatedDisk) -> None:
    assert format_(disk, "/a", "/b") == [Formatted("/a", already=False), Formatted("/b", already=False)]
    metas = [read_meta_properties(disk, path) for path in ("/a", "/b")]
    assert [(meta.cluster_id, meta.node_id) for meta in metas if meta is not None] == [(CLUSTER_ID, 1)] * 2
    assert len({meta.directory_id for meta in metas if meta is not None}) == 2
    assert read_bootstrap(disk, "/a") == bootstrap_records()


def test_users_are_among_the_first_records_of_the_metadata_directory(disk: SimulatedDisk) -> None:
    users = [parse_add_scram(f"SCRAM-SHA-256=[name={name},password=x]") for name in ("alice", "bob")]
    format_directories(
        disk,
        ["/a", "/m"],
        cluster_id=CLUSTER_ID,
        node_id=NodeId(1),
        entropy=Dice(),
        now_ms=5,
        metadata_path="/m",
        users=users,
    )
    records = read_bootstrap(disk, "/m")
    assert records[: len(bootstrap_records())] == bootstrap_records()
    added = records[len(bootstrap_records()) :]
    assert [record.name for record in added if isinstance(record, UserScramCredentialRecord)] == ["alice", "bob"]
    assert len({record.salt for record in added if isinstance(record, UserScramCredentialRecord)}) == 2
    assert read_bootstrap(disk, "/a") == bootstrap_records()


def test_a_formatted_directory_is_left_alone_or_refused(disk: SimulatedDisk) -> None:
    format_(disk, "/a")
    before = read_meta_properties(disk, "/a")
    with pytest.raises(FormatRefused, match="/a is already formatted"):
        format_(disk, "/a")
    assert format_(disk, "/a", "/b", ignore=True) == [Formatted("/a", already=True), Formatted("/b", already=False)]
    assert read_meta_properties(disk, "/a") == before


@pytest.mark.parametrize("ignore", [False, True])
def test_a_directory_of_another_cluster_or_node_is_refused_and_nothing_is_written(disk: SimulatedDisk, ignore: bool) -> None:
    format_(disk, "/b")
    with pytest.raises(FormatRefused, match="/b belongs to node 1 of cluster"):
        format_(disk, "/a", "/b", cluster_id=OTHER_CLUSTER, ignore=ignore)
    with pytest.raises(FormatRefused, match="not to node 2"):
        format_(disk, "/a", "/b", node_id=2, ignore=ignore)
    assert not disk.exists("/a/meta.properties")


def test_a_directory_without_its_bootstrap_begins_as_if_formatted_now(disk: SimulatedDisk) -> None:
    format_(disk, "/a")
    disk.remove("/a/bootstrap.checkpoint")
    assert read_bootstrap(disk, "/a") == bootstrap_records()


def test_the_error_of_a_damaged_bootstrap_names_its_path(disk: SimulatedDisk) -> None:
    format_(disk, "/a")
    file = disk.open("/a/bootstrap.checkpoint")
    file.truncate(file.size_bytes() - 1)
    with pytest.raises(FormatRefused, match=r"/a/bootstrap\.checkpoint cannot be read"):
        read_bootstrap(disk, "/a")


def test_the_first_voters_of_a_dynamic_quorum_stand_beside_its_empty_log(disk: SimulatedDisk) -> None:
    voters = parse_initial_voters(f"1@a:9093:{ONE},2@[::1]:9094:{TWO}", LISTENER)
    assert voters[NodeId(2)] == Voter(ReplicaKey(NodeId(2), parse_uuid(TWO)), (Endpoint(LISTENER, "::1", 9094),), SUPPORTED_KRAFT_VERSIONS)
    format_directories(
        disk,
        ["/a", "/m"],
        cluster_id=CLUSTER_ID,
        node_id=NodeId(1),
        entropy=Dice(),
        now_ms=5,
        metadata_path="/m",
        initial_voters=voters,
    )
    meta = read_meta_properties(disk, "/m")
    assert meta is not None
    assert meta.directory_id == parse_uuid(ONE)
    log = MetadataLog(disk, "/m", LogSettings(), clean=True, now_ms=6)
    assert log.control_changes() == [KRaftVersionAt(BOOTSTRAP_OFFSET, 1), VotersAt(BOOTSTRAP_OFFSET, voters)]
    assert log.outline().snapshots == [EMPTY]
    assert log.read_latest_snapshot() is None
    assert not disk.exists("/a/__cluster_metadata-0")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "No controllers"),
        ("1", "is not id@host:port:directory"),
        ("x@a:1:" + ONE, "is not id@host:port:directory"),
        ("-1@a:1:" + ONE, "is not id@host:port:directory"),
        ("1@:1:" + ONE, "is not id@host:port:directory"),
        ("1@a:99999:" + ONE, "is not id@host:port:directory"),
        ("1@a:1:short", "is not a base64 uuid|decodes to"),
        (f"1@a:1:{ONE},1@b:1:{TWO}", "the same node id"),
        (f"1@a:1:{ONE},2@b:1:{ONE}", "the same directory"),
        (f"1@a:1:{ONE},2@a:1:{TWO}", "the same address"),
    ],
)
def test_invalid_voters_are_refused_with_a_sentence(text: str, problem: str) -> None:
    with pytest.raises(WrongVoters, match=problem):
        parse_initial_voters(text, LISTENER)
