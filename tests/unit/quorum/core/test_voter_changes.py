"""Voters that come, go and move, in quorums whose voters are in the log (KIP-853)."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.quorum.core.events import UpgradeKRaftVersion
from barnabas.quorum.core.voter_changes import upgrade_problem
from barnabas.quorum.core.voters import Endpoint
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from tests.unit.quorum.core.world import CLUSTER, LISTENER, PORT, SimulatedNode, World


def add(node: SimulatedNode, *, ack_when_committed: bool = True, **changes: Any) -> AddRaftVoterRequest:
    fields: dict[str, Any] = {
        "cluster_id": CLUSTER,
        "timeout_ms": 1000,
        "voter_id": node.node_id,
        "voter_directory_id": node.key.directory_id,
        "listeners": [Listener(name=LISTENER, host=f"n{node.node_id}", port=PORT)],
        "ack_when_committed": ack_when_committed,
    }
    return AddRaftVoterRequest(**{**fields, **changes})


def remove(node: SimulatedNode, **changes: Any) -> RemoveRaftVoterRequest:
    fields: dict[str, Any] = {"cluster_id": CLUSTER, "voter_id": node.node_id, "voter_directory_id": node.key.directory_id}
    return RemoveRaftVoterRequest(**{**fields, **changes})


def voters_of(node: SimulatedNode) -> list[int]:
    assert node.core is not None
    return list(node.core.voters)


def running(voters: int, dynamic: int, *, seed: int = 1, auto_join: bool = False) -> World:
    world = World(seed, voters=voters, dynamic=dynamic, auto_join=auto_join)
    world.start()
    assert world.run(10_000, until=lambda: world.committed_offset > 0 and world.agreed())
    world.run(500)  # Until all nodes have acknowledged it.
    return world


def lead(world: World) -> SimulatedNode:
    leader = world.leader
    assert leader is not None
    return leader


def asked(world: World, request: Any) -> Any:
    answers = lead(world).ask(request)
    assert world.run(4_000, until=lambda: bool(answers))
    return answers[0]


def test_a_standalone_controller_writes_its_voters_into_the_log_and_others_follow_it() -> None:
    world = running(3, dynamic=1)
    assert lead(world) is world.nodes[1]
    assert [voters_of(node) for node in world.nodes.values()] == [[1], [1], [1]]
    assert world.nodes[3].core is not None
    assert world.nodes[3].core.kraft_version == 1


def test_observers_become_voters_one_after_the_other() -> None:
    world = running(3, dynamic=1)
    for each in (2, 3):
        assert asked(world, add(world.nodes[each])).error_code == ErrorCode.NONE
    assert world.run(2_000, until=world.agreed)
    assert [voters_of(node) for node in world.nodes.values()] == [[1, 2, 3]] * 3
    world.nodes[1].crash()
    assert world.run(4_000, until=lambda: world.leader is not None)


def test_a_leader_that_was_alone_for_long_stays_leader_when_voters_join() -> None:
    world = running(2, dynamic=1)
    world.run(20_000)
    leader = lead(world)
    assert leader.core is not None
    epoch = leader.core.epoch
    assert asked(world, add(world.nodes[2])).error_code == ErrorCode.NONE
    world.run(5_000)
    assert (world.leader, leader.core.epoch) == (leader, epoch)


def test_a_request_may_ask_for_an_answer_before_the_commit() -> None:
    world = running(2, dynamic=1)
    before = world.committed_offset
    assert asked(world, add(world.nodes[2], ack_when_committed=False)).error_code == ErrorCode.NONE
    assert world.committed_offset == before
    assert world.run(2_000, until=lambda: world.agreed() and world.committed_offset > before)


def test_a_voter_that_is_removed_goes_on_as_an_observer() -> None:
    world = running(3, dynamic=3)
    gone = next(node for node in world.nodes.values() if node is not lead(world))
    assert asked(world, remove(gone)).error_code == ErrorCode.NONE
    assert world.append(b"x")
    assert world.run(2_000, until=world.agreed)
    assert gone.node_id not in voters_of(gone)


def test_a_removed_leader_leads_until_its_removal_is_committed_and_then_resigns() -> None:
    world = running(3, dynamic=3)
    old = lead(world)
    assert asked(world, remove(old)).error_code == ErrorCode.NONE
    assert world.run(4_000, until=lambda: world.leader not in (None, old) and world.agreed())
    assert voters_of(old) == [each for each in (1, 2, 3) if each != old.node_id]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"voter_id": -1}, ErrorCode.INVALID_REQUEST),
        ({"voter_directory_id": Uuid(bytes(16))}, ErrorCode.INVALID_REQUEST),
        ({"voter_id": 1}, ErrorCode.DUPLICATE_VOTER),
        ({"listeners": []}, ErrorCode.INVALID_REQUEST),
        ({"voter_directory_id": Uuid(b"?" * 16)}, ErrorCode.REQUEST_TIMED_OUT),
    ],
)
def test_requests_to_add_a_wrong_voter_are_refused(changes: dict[str, Any], error: ErrorCode) -> None:
    world = running(2, dynamic=1)
    assert asked(world, add(world.nodes[2], **changes)).error_code == error
    assert voters_of(world.nodes[1]) == [1]


def test_unknown_voters_and_the_last_voter_cannot_be_removed() -> None:
    world = running(2, dynamic=1)
    assert asked(world, remove(world.nodes[2])).error_code == ErrorCode.VOTER_NOT_FOUND
    assert asked(world, remove(world.nodes[1], voter_directory_id=Uuid(b"?" * 16))).error_code == ErrorCode.VOTER_NOT_FOUND
    assert asked(world, remove(world.nodes[1])).error_code == ErrorCode.INVALID_REQUEST


def test_only_the_leader_changes_voters() -> None:
    world = running(3, dynamic=2)
    follower = next(node for node in (world.nodes[1], world.nodes[2]) if node is not lead(world))
    assert follower.ask(add(world.nodes[3]))[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert follower.ask(remove(world.nodes[1]))[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_one_change_at_a_time() -> None:
    world = running(4, dynamic=2)
    first = lead(world).ask(add(world.nodes[3]))
    second = lead(world).ask(add(world.nodes[4]))
    assert second[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert world.run(2_000, until=lambda: bool(first))
    assert first[0].error_code == ErrorCode.NONE


def test_a_new_voter_that_cannot_be_reached_is_not_added() -> None:
    world = running(3, dynamic=2)
    world.nodes[3].crash()
    assert asked(world, add(world.nodes[3])).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_configured_voters_cannot_be_changed() -> None:
    world = running(3, dynamic=0)
    assert asked(world, add(world.nodes[1], voter_id=9)).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_controller_with_auto_join_makes_itself_a_voter() -> None:
    world = running(3, dynamic=1, auto_join=True)
    assert world.run(30_000, until=lambda: voters_of(world.nodes[1]) == [1, 2, 3] and world.agreed())


def test_a_controller_that_lost_its_disk_replaces_its_old_directory_id_with_auto_join() -> None:
    world = running(3, dynamic=3, auto_join=True)
    wiped = next(node for node in world.nodes.values() if node is not lead(world))
    wiped.crash()
    wiped.lose_disk()
    wiped.start()
    assert world.run(30_000, until=lambda: lead(world).core.voters.includes(wiped.key) and world.agreed())  # type: ignore[union-attr]


def test_a_voter_that_moved_announces_its_new_address() -> None:
    world = running(3, dynamic=3)
    moved = next(node for node in world.nodes.values() if node is not lead(world))
    moved.crash()
    moved.endpoints = (*moved.endpoints, Endpoint("OTHER", "elsewhere", 1))
    moved.start()
    assert world.run(15_000, until=lambda: len(lead(world).core.voters[moved.key.node_id].endpoints) == 2)  # type: ignore[union-attr]


def test_a_quorum_with_configured_voters_becomes_dynamic_once_all_directories_are_known() -> None:
    world = running(3, dynamic=0)
    leader = lead(world)
    assert leader.core is not None
    assert upgrade_problem(leader.core.quorum, 1) is not None
    assert world.run(10_000, until=lambda: upgrade_problem(lead(world).core.quorum, 1) is None)  # type: ignore[union-attr]
    lead(world).step(UpgradeKRaftVersion(1))
    assert world.run(5_000, until=world.agreed)
    for node in world.nodes.values():
        assert node.core is not None
        assert node.core.kraft_version == 1
        assert [voter.key for voter in node.core.voters.values()] == [each.key for each in world.nodes.values()]
    assert upgrade_problem(lead(world).core.quorum, 0) is not None  # type: ignore[union-attr]


def test_a_new_replica_learns_the_voters_from_a_snapshot() -> None:
    world = running(3, dynamic=2)
    world.nodes[3].crash()
    for number in range(5):
        world.append(b"%d" % number)
        world.run(200)
    lead(world).snapshot(trim=True)
    world.nodes[3].lose_disk()
    world.nodes[3].start()
    assert world.run(5_000, until=world.agreed)
    assert world.nodes[3].disk.start_offset > 0
    assert voters_of(world.nodes[3]) == [1, 2]


@pytest.mark.parametrize("seed", range(30))
def test_voters_change_while_nodes_die_and_nothing_committed_is_lost(seed: int) -> None:
    world = World(seed, voters=4, dynamic=2 + seed % 2, loss=0.03 * (seed % 3))
    world.start()
    chance, appended = world.chance, 0
    for _ in range(60):
        world.run(chance.randint(50, 800))
        node = chance.choice(list(world.nodes.values()))
        match chance.randrange(12):
            case 0 if node.core is not None and sum(each.core is None for each in world.nodes.values()) < 1:
                node.crash()
            case 1 | 2:
                for each in world.nodes.values():
                    if each.core is None:
                        each.start()
            case 3:
                world.isolate(node.node_id)
            case 4 | 5:
                world.cut.clear()
            case 6 | 7 if world.leader is not None:
                world.leader.ask(add(node))
            case 8 if world.leader is not None:
                world.leader.ask(remove(node))
            case 9:
                node.snapshot(trim=chance.random() < 0.5)
            case _:
                appended += world.append(b"value %d" % appended)
    world.heal()
    for each in world.nodes.values():
        if each.core is None:
            each.start()
    assert world.run(40_000, until=world.agreed), "no agreement after everything healed"
    assert world.append(b"the last")
    assert world.run(5_000, until=world.agreed)
    assert not world.complaints
