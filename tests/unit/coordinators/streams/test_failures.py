"""Coordinators that move, logs that refuse, and members with old epochs."""

from __future__ import annotations

from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.model.errors import ErrorCode
from tests.streams_heartbeats import subtopology, topology
from tests.unit.coordinators.consumer.desk import GROUP
from tests.unit.coordinators.streams.desk import StreamsDesk

STATELESS = topology(subtopology("0", "four"))


def desk() -> StreamsDesk:
    made = StreamsDesk()
    made.topic("four", 4)
    return made


def state_of(group: StreamsGroup) -> tuple[object, ...]:
    return (
        group.epoch,
        group.metadata_hash,
        group.validated_topology_epoch,
        group.assignment_configs,
        group.topology,
        group.target_epoch,
        group.members,
        group.targets,
        group.active_processes,
    )


def test_another_broker_reads_the_same_group_from_the_log() -> None:
    at = desk()
    at.joins("a", STATELESS, endpoint=("host", 1), tags={"zone": "z"})
    at.joins("b", STATELESS)
    at.beats("a")
    before = at.streams_group
    at.reload()
    assert at.streams_group is not before
    assert state_of(at.streams_group) == state_of(before)


def test_members_go_on_after_the_coordinator_moved() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.joins("b", STATELESS)
    at.reload()
    at.settle("a", "b")
    assert at.streams_group.state_name == "Stable"
    assert [len(tasks["0"]) for tasks in at.owned().values()] == [2, 2]


def test_sessions_start_over_after_the_coordinator_moved() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.wait(30_000)
    at.reload()
    at.wait(44_000)
    assert "a" in at.streams_group.members
    at.wait(1_000)
    assert not at.streams_group.members


def test_a_deadline_to_revoke_survives_the_coordinator() -> None:
    at = desk()
    at.joins("a", STATELESS, rebalance_timeout_ms=10_000)
    at.joins("b", STATELESS)
    at.beats("a")
    at.reload()
    at.wait(10_000)
    assert set(at.streams_group.members) == {"b"}


def test_a_refused_write_leaves_no_group_behind() -> None:
    at = desk()
    at.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert at.refused(lambda: at.joins("a", STATELESS))
    assert GROUP not in at.machine.shard.groups
    at.refusal = ErrorCode.NONE
    assert at.joins("a", STATELESS).member_epoch == 2


def test_a_change_of_topics_that_could_not_be_written_is_noticed_again() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.topic("four", 6)
    at.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert at.refused(lambda: at.beats("a"))
    at.refusal = ErrorCode.NONE
    at.beats("a")
    assert at.streams["a"].active == {"0": [0, 1, 2, 3, 4, 5]}


def test_a_removal_that_could_not_be_written_is_tried_again() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    at.wait(45_000)
    assert "a" in at.streams_group.members
    at.refusal = ErrorCode.NONE
    at.wait(45_000)
    assert not at.streams_group.members


def test_the_previous_epoch_is_accepted_while_the_member_has_only_its_tasks() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.beats("a", rebalance_timeout_ms=1_000)
    assert at.streams["a"].epoch == 3
    assert at.beats("a", epoch=2).error_code == ErrorCode.NONE
    assert at.beats("a", epoch=2, silent=True).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert at.beats("a", epoch=1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert at.beats("a", epoch=9).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_tombstones_of_a_deleted_group_leave_nothing_in_the_log() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.leaves("a")
    tombstones = at.streams_group.tombstones()
    for record in tombstones:
        at.machine.replay(record, None, 0)
    assert GROUP not in at.machine.shard.groups
    assert [type(record.key).__name__ for record in tombstones] == [
        "StreamsGroupTargetAssignmentMetadataKey",
        "StreamsGroupMetadataKey",
        "StreamsGroupTopologyKey",
    ]
