"""Offsets of share groups: altered and deleted only while the group is empty."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from tests.unit.coordinators.share_groups.desk import GROUP, ShareDesk, holds


def test_altered_offsets_create_the_group_and_its_state() -> None:
    holds("""
    > topic a 2
    > offsets of a become 5,7
      NONE,NONE
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0,a1 deleting -
    > show
      Empty group 1 target 1; initializing - initialized a0,a1 deleting -
    > A joins a
      epoch 2 a0,a1
      log A reads a
      log group 2
      log A targets a0,a1
      log target 2
      log A at 2 has a0,a1
    > A beats
      epoch 2
    """)


def test_offsets_of_a_group_with_members_cannot_be_altered_or_deleted() -> None:
    holds("""
    > topic a 1
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0 initialized - deleting -
      log initializing - initialized a0 deleting -
    > A beats
      epoch 3 a0
      log group 3
      log A targets a0
      log target 3
      log A at 3 has a0
    > offsets of a become 1
      NON_EMPTY_GROUP
    > offsets of a are deleted
      NON_EMPTY_GROUP
    """)


def test_deleted_offsets_are_gone_and_a_member_initializes_them_again() -> None:
    holds("""
    > topic a 1
    > offsets of a become 5
      NONE
      log initializing a0 initialized - deleting -
      log initializing - initialized a0 deleting -
    > offsets of a are deleted
      NONE
      log initializing - initialized - deleting a
      log initializing - initialized - deleting -
    > offsets of a are deleted
      no offsets
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0 initialized - deleting -
      log initializing - initialized a0 deleting -
    > A beats
      epoch 3 a0
      log group 3
      log A targets a0
      log target 3
      log A at 3 has a0
    """)


def test_a_refused_partition_keeps_its_offset() -> None:
    holds("""
    > topic a 2
    > offsets of a become 5,7
      NONE,NONE
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0,a1 deleting -
    > the share coordinator refuses 1 NOT_COORDINATOR
    > offsets of a become 6,8
      NONE,NOT_COORDINATOR
      log initializing a0,a1 initialized a0,a1 deleting -
      log initializing - initialized a0,a1 deleting -
    > show
      Empty group 1 target 1; initializing - initialized a0,a1 deleting -
    """)


def test_a_failed_deletion_can_be_repeated() -> None:
    holds("""
    > topic a 2
    > offsets of a become 5,7
      NONE,NONE
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0,a1 deleting -
    > the share coordinator refuses 1 NOT_COORDINATOR
    > offsets of a are deleted
      NOT_COORDINATOR
      log initializing - initialized - deleting a
    > show
      Empty group 1 target 1; initializing - initialized - deleting a
    > the share coordinator accepts
    > offsets of a are deleted
      NONE
      log initializing - initialized - deleting -
    > show
      Empty group 1 target 1; initializing - initialized - deleting -
    """)


def test_a_join_ends_an_unfinished_deletion() -> None:
    holds("""
    > topic a 2
    > offsets of a become 5,7
      NONE,NONE
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0,a1 deleting -
    > the share coordinator refuses 1 NOT_COORDINATOR
    > offsets of a are deleted
      NOT_COORDINATOR
      log initializing - initialized - deleting a
    > the share coordinator accepts
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0,a1 deleting -
    > show
      Stable group 2 target 2; initializing - initialized a0,a1 deleting -
    """)


def test_an_alteration_that_a_member_overtook_is_not_acknowledged() -> None:
    desk = ShareDesk()
    desk.topic("a", 1)
    desk.perform("the share coordinator is late")
    altered = desk.begin_altering("a", [5])
    desk.persister.late = False
    desk.perform("A joins a")
    desk.perform("wait 30000")
    desk.perform("A beats")
    assert [start for _, _, start in desk.persister.initializations] == [5, -1]
    desk.perform("the share coordinator answers")
    assert altered.value == {(desk.image.topics.by_name["a"].topic_id, 0): ErrorCode.FENCED_STATE_EPOCH}


def test_only_the_last_of_several_alterations_counts() -> None:
    """The state that the first one made was deleted before the second one."""
    desk = ShareDesk()
    desk.topic("a", 1)
    desk.perform("offsets of a become 1")
    slot = desk.image.topics.by_name["a"].topic_id, 0
    desk.perform("the share coordinator is late")
    first = desk.begin_altering("a", [5])
    deleted = desk.states.delete_offsets(GROUP, {slot[0]})
    second = desk.begin_altering("a", [7])
    desk.perform("the share coordinator answers")
    assert deleted.done
    assert first.value == {slot: ErrorCode.FENCED_STATE_EPOCH}
    assert second.value == {slot: ErrorCode.NONE}
    assert desk.share_group.states.initialized_partitions() == {slot}
