from __future__ import annotations

from barnabas.console.core.broker_load import duties
from barnabas.console.core.quorum import Replica, quorum_state
from barnabas.console.core.releases import release_of
from barnabas.console.core.topic import Partition, Topic


def test_brokers_are_counted_as_leaders_preferred_leaders_and_holders_of_replicas() -> None:
    partitions = [
        Partition(0, 1, 0, [1, 2], [1, 2], []),
        Partition(1, 1, 0, [2, 1], [1], []),
        Partition(2, -1, 0, [3], [], [3]),
    ]
    found = duties([Topic("t", "", False, partitions)])
    assert (found.leads, found.preferred) == ({1: 2}, {1: 1, 2: 1, 3: 1})
    assert (found.replicas, found.out_of_sync) == ({1: 2, 2: 2, 3: 1}, {2: 1, 3: 1})


def test_replicas_of_the_quorum_are_behind_their_leader() -> None:
    state = quorum_state(
        leader=2,
        epoch=7,
        high_watermark=95,
        voters=[Replica(2, None, 100, 5_000, 5_000), Replica(1, "d", 90, 4_900, 1_000)],
        observers=[Replica(3, None, 100, -1, -1)],
        endpoints={1: ["CONTROLLER://a:1"]},
        now_ms=5_000,
    )
    assert [(each.id, each.role, each.lag, each.fetched_ms_ago, each.caught_up_ms_ago) for each in state.replicas] == [
        (1, "voter", 10, 100, 4_000),
        (2, "leader", 0, 0, 0),
        (3, "observer", 0, None, None),
    ]
    assert state.replicas[0].endpoints == ["CONTROLLER://a:1"]


def test_a_quorum_without_a_leader_says_so() -> None:
    state = quorum_state(leader=-1, epoch=7, high_watermark=-1, voters=[], observers=[], endpoints={}, now_ms=0)
    assert state.leader is None


def test_a_level_of_metadata_has_the_name_of_its_release() -> None:
    assert (release_of(30), release_of(25), release_of(7)) == ("4.3-IV0", "4.0-IV3", "3.3-IV3")
    assert (release_of(6), release_of(99)) == (None, None)
