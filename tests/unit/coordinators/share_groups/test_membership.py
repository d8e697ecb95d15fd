"""Share groups from the outside: responses and records."""

from __future__ import annotations

from tests.unit.coordinators.share_groups.desk import holds


def test_partitions_are_assigned_once_their_state_is_initialized() -> None:
    holds("""
    > topic a 2
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0,a1 deleting -
    > A beats
      epoch 3 a0,a1
      log group 3
      log A targets a0,a1
      log target 3
      log A at 3 has a0,a1
    > A beats
      epoch 3
    > show
      Stable group 3 target 3; initializing - initialized a0,a1 deleting -
    """)


def test_partitions_go_to_members_evenly_and_are_shared_if_members_outnumber_them() -> None:
    holds("""
    > topic a 2
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0,a1 deleting -
    > A beats
      epoch 3 a0,a1
      log group 3
      log A targets a0,a1
      log target 3
      log A at 3 has a0,a1
    > B joins a
      epoch 4 a1
      log B reads a
      log group 4
      log A targets a0
      log B targets a1
      log target 4
      log B at 4 has a1
    > A beats
      epoch 4 a0
      log A at 4 has a0
    > C joins a
      epoch 5 a0
      log C reads a
      log group 5
      log A targets a0,a1
      log C targets a0
      log target 5
      log C at 5 has a0
    > A beats
      epoch 5 a0,a1
      log A at 5 has a0,a1
    > B beats
      epoch 5
      log B at 5 has a1
    > A leaves
      epoch -1
      log A has no partitions
      log A has no target
      log A is gone
      log group 6
    > B beats
      epoch 6
      log target 6
      log B at 6 has a1
    > C beats
      epoch 6
      log C at 6 has a0
    > show
      Stable group 6 target 6; initializing - initialized a0,a1 deleting -
    """)


def test_a_member_may_use_its_previous_epoch_once_more_and_no_older_one() -> None:
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
    > A beats at 1
      FENCED_MEMBER_EPOCH
    > A beats at 3
      epoch 3
    > B joins a
      epoch 4 a0
      log B reads a
      log group 4
      log B targets a0
      log target 4
      log B at 4 has a0
    > A beats
      epoch 4
      log A at 4 has a0
    > A beats at 2
      FENCED_MEMBER_EPOCH
    > A beats at 1
      FENCED_MEMBER_EPOCH
    """)


def test_a_member_that_joins_again_keeps_its_epoch_and_its_partitions() -> None:
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
    > A joins a
      epoch 3 a0
    > A beats
      epoch 3
    """)


def test_only_members_stay_and_leave() -> None:
    holds("""
    > topic a 1
    > X beats at 1
      GROUP_ID_NOT_FOUND
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0 initialized - deleting -
      log initializing - initialized a0 deleting -
    > X beats at 1
      UNKNOWN_MEMBER_ID
    > X leaves
      UNKNOWN_MEMBER_ID
    > A leaves
      epoch -1
      log A has no partitions
      log A has no target
      log A is gone
      log group 3
    > A beats at 1
      UNKNOWN_MEMBER_ID
    """)


def test_a_changed_subscription_takes_effect_at_once_for_topics_with_state() -> None:
    holds("""
    > topic a 1
    > topic b 1
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
    > A beats reading a,b
      epoch 4 a0
      log A reads a,b
      log group 4
      log target 4
      log A at 4 has a0
      log initializing b0 initialized a0 deleting -
      log initializing - initialized a0,b0 deleting -
    > A beats
      epoch 5 a0,b0
      log group 5
      log A targets a0,b0
      log target 5
      log A at 5 has a0,b0
    > A beats reading b
      epoch 6 b0
      log A reads b
      log group 6
      log A targets b0
      log target 6
      log A at 6 has b0
    """)


def test_added_partitions_are_initialized_and_then_assigned() -> None:
    holds("""
    > topic b 1
    > A joins b
      epoch 2 -
      log A reads b
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing b0 initialized - deleting -
      log initializing - initialized b0 deleting -
    > A beats
      epoch 3 b0
      log group 3
      log A targets b0
      log target 3
      log A at 3 has b0
    > topic b 2
    > A beats
      epoch 4
      log group 4
      log target 4
      log A at 4 has b0
      log initializing b1 initialized b0 deleting -
      log initializing - initialized b0,b1 deleting -
    > A beats
      epoch 5 b0,b1
      log group 5
      log A targets b0,b1
      log target 5
      log A at 5 has b0,b1
    """)


def test_a_deleted_topic_leaves_the_assignment() -> None:
    holds("""
    > topic a 1
    > topic b 1
    > A joins a,b
      epoch 2 -
      log A reads a,b
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0,b0 initialized - deleting -
      log initializing - initialized a0,b0 deleting -
    > A beats
      epoch 3 a0,b0
      log group 3
      log A targets a0,b0
      log target 3
      log A at 3 has a0,b0
    > delete b
    > A beats
      epoch 4 a0
      log group 4
      log A targets a0
      log target 4
      log A at 4 has a0
    > A beats
      epoch 4
    """)
