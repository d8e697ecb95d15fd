"""Members that are silent, logs that refuse records, and coordinators that answer late or not at
all.
"""

from __future__ import annotations

from tests.unit.coordinators.share_groups.desk import holds


def test_a_silent_member_is_removed_when_its_session_ends() -> None:
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
    > wait 44999
    > A beats
      epoch 3
    > wait 45000
      log A has no partitions
      log A has no target
      log A is gone
      log group 4
    > show
      Empty group 4 target 3; initializing - initialized a0 deleting -
    > A beats at 2
      UNKNOWN_MEMBER_ID
    """)


def test_a_member_whose_removal_the_log_refuses_stays_for_another_session() -> None:
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
    > refuse NOT_ENOUGH_REPLICAS
    > wait 45000
    > show
      Stable group 3 target 3; initializing - initialized a0 deleting -
    > refuse NONE
    > wait 45000
      log A has no partitions
      log A has no target
      log A is gone
      log group 4
    > show
      Empty group 4 target 3; initializing - initialized a0 deleting -
    """)


def test_a_refused_join_leaves_nothing_behind() -> None:
    holds("""
    > topic a 1
    > refuse NOT_ENOUGH_REPLICAS
    > A joins a
      NOT_ENOUGH_REPLICAS
    > refuse NONE
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


def test_sessions_begin_again_with_a_new_coordinator() -> None:
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
    > wait 40000
    > reload
    > wait 44999
    > show
      Stable group 3 target 3; initializing - initialized a0 deleting -
    > wait 1
      log A has no partitions
      log A has no target
      log A is gone
      log group 4
    > show
      Empty group 4 target 3; initializing - initialized a0 deleting -
    """)


def test_a_request_without_an_answer_is_repeated_after_the_retry_interval() -> None:
    holds("""
    > topic a 1
    > the share coordinator is late
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0 initialized - deleting -
    > wait 29999
    > A beats
      epoch 2
    > wait 1
    > A beats
      epoch 2
    > the share coordinator answers
      log initializing - initialized a0 deleting -
    > A beats
      epoch 3 a0
      log group 3
      log A targets a0
      log target 3
      log A at 3 has a0
    """)


def test_a_new_coordinator_repeats_the_request_at_once() -> None:
    holds("""
    > topic a 1
    > the share coordinator is late
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0 initialized - deleting -
    > reload
    > show
      Stable group 2 target 2; initializing a0 initialized - deleting -
    > the share coordinator answers
    > A beats
      epoch 2
      log initializing - initialized a0 deleting -
    > A beats
      epoch 3 a0
      log group 3
      log A targets a0
      log target 3
      log A at 3 has a0
    """)


def test_partitions_that_the_share_coordinator_refuses_are_requested_again() -> None:
    holds("""
    > topic a 2
    > the share coordinator refuses 1 NOT_COORDINATOR
    > A joins a
      epoch 2 -
      log A reads a
      log group 2
      log A targets -
      log target 2
      log A at 2 has -
      log initializing a0,a1 initialized - deleting -
      log initializing - initialized a0 deleting -
    > A beats
      epoch 3 a0
      log group 3
      log A targets a0
      log target 3
      log A at 3 has a0
      log initializing a1 initialized a0 deleting -
      log initializing - initialized a0 deleting -
    > the share coordinator accepts
    > A beats
      epoch 3
      log initializing a1 initialized a0 deleting -
      log initializing - initialized a0,a1 deleting -
    > A beats
      epoch 4 a0,a1
      log group 4
      log A targets a0,a1
      log target 4
      log A at 4 has a0,a1
    """)
