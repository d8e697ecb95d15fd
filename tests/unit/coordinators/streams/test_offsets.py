"""Offsets of streams groups: member epochs, owned tasks, deletion and expiry."""

from __future__ import annotations

from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.model.errors import ErrorCode
from tests.streams_heartbeats import internal, subtopology, topology
from tests.unit.coordinators.streams.desk import StreamsDesk

SENT = topology(
    subtopology("0", "four", sinks=["rep"]),
    subtopology("1", repartitions=[internal("rep")]),
)


def group_of_two() -> StreamsGroup:
    """Member a has partitions 0 and 1 of both topics, and has had them since epoch 2."""
    at = StreamsDesk()
    at.topic("four", 4)
    at.topic("rep", 4)
    at.joins("a", SENT)
    at.joins("b", SENT)
    at.settle("a", "b")
    assert at.streams_group.members["a"].epoch > 2
    return at.streams_group


def commit(group: StreamsGroup, member: str, epoch: int, topic: str = "four", partition: int = 0) -> ErrorCode:
    return group.check_partition_commit(member_id=member, epoch=epoch, topic=topic, partition=partition)


def test_a_member_commits_with_its_epoch() -> None:
    group = group_of_two()
    epoch = group.members["a"].epoch
    assert group.check_commit(member_id="a", instance_id=None, epoch=epoch, transactional=False) is ErrorCode.NONE
    assert group.check_commit(member_id="a", instance_id=None, epoch=epoch + 1, transactional=False) is ErrorCode.STALE_MEMBER_EPOCH
    assert group.check_commit(member_id="c", instance_id=None, epoch=epoch, transactional=False) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.check_commit(member_id="", instance_id=None, epoch=-1, transactional=False) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.check_commit(member_id="", instance_id=None, epoch=-1, transactional=True) is ErrorCode.NONE


def test_an_older_epoch_may_commit_tasks_that_the_member_kept() -> None:
    group = group_of_two()
    (kept, *_) = sorted(number for subtopology_id, number in group.members["a"].ownership.assigned.active if subtopology_id == "0")
    (lost, *_) = sorted({0, 1, 2, 3} - {number for part, number in group.members["a"].ownership.assigned.active if part == "0"})
    assert commit(group, "a", 2, partition=kept) is ErrorCode.NONE
    assert commit(group, "a", 1, partition=kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(group, "a", 2, partition=lost) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(group, "a", 2, topic="other") is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(group, "a", 99, partition=kept) is ErrorCode.STALE_MEMBER_EPOCH


def test_a_fetch_needs_the_epoch_if_it_names_a_member() -> None:
    group = group_of_two()
    epoch = group.members["a"].epoch
    assert group.check_fetch(member_id=None, epoch=-1) is ErrorCode.NONE
    assert group.check_fetch(member_id="a", epoch=epoch) is ErrorCode.NONE
    assert group.check_fetch(member_id="a", epoch=epoch - 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert group.check_fetch(member_id="c", epoch=epoch) is ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_of_source_topics_are_kept_while_the_group_has_members() -> None:
    group = group_of_two()
    assert group.subscribed_to("four")
    assert group.subscribed_to("rep")
    assert not group.subscribed_to("other")
    group.forget_member("a")
    group.forget_member("b")
    assert not group.subscribed_to("four")
    assert group.check_delete() is ErrorCode.NONE
