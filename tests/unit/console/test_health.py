from __future__ import annotations

from barnabas.console.core.health import Disk, PartitionCounts, count_partitions, findings, health_word, quorum_members
from barnabas.console.core.topic import Partition

_GOOD = PartitionCounts(1, 3, 0, 0)


def _word(
    counts: PartitionCounts = _GOOD, *, controller: int | None = 1, fenced: tuple[int, ...] = (), disks: tuple[Disk, ...] = ()
) -> str:
    return health_word(findings(counts, controller=controller, fenced=fenced, disks=disks, quorum=()))


def test_offline_and_under_replicated_partitions_are_counted() -> None:
    partitions = [
        Partition(0, 1, 0, [1, 2], [1, 2], []),
        Partition(1, 1, 0, [1, 2], [1], []),
        Partition(2, -1, 0, [1, 2], [], []),
    ]
    assert count_partitions([partitions, []]) == PartitionCounts(2, 3, 1, 2)


def test_a_cluster_without_findings_is_good() -> None:
    assert _word() == "good"
    assert _word(controller=None) == "good"


def test_a_partition_without_a_leader_is_worse_than_one_out_of_sync() -> None:
    assert _word(PartitionCounts(1, 3, 0, 1)) == "degraded"
    assert _word(PartitionCounts(1, 3, 1, 1)) == "bad"
    found = findings(PartitionCounts(1, 3, 1, 1), controller=1, fenced=(), disks=(), quorum=())
    assert [each.severity for each in found] == ["bad", "degraded"]


def test_a_full_disk_degrades_and_a_failed_one_is_bad() -> None:
    assert _word(disks=(Disk(1, "/data", 100, 50, None),)) == "good"
    assert _word(disks=(Disk(1, "/data", 100, 5, None),)) == "degraded"
    assert _word(disks=(Disk(1, "/data", -1, -1, "kafka storage error"),)) == "bad"
    assert _word(disks=(Disk(1, "/data", -1, -1, None),)) == "good"


def test_a_cluster_without_a_controller_is_bad_and_a_fenced_broker_degrades() -> None:
    assert _word(controller=-1) == "bad"
    assert _word(fenced=(3,)) == "degraded"


def test_members_of_the_quorum_are_behind_their_leader() -> None:
    members = quorum_members(2, [(1, 90, 1_000), (2, 100, 5_000)], [(3, 100, -1)], now_ms=5_000)
    assert [(each.id, each.role, each.lag, each.caught_up_ms_ago) for each in members] == [
        (1, "voter", 10, 4_000),
        (2, "leader", 0, 0),
        (3, "observer", 0, None),
    ]
