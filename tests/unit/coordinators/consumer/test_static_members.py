"""Static members may leave for a while, and the member that returns with the instance id gets their
partitions.
"""

from __future__ import annotations

from tests.unit.coordinators.consumer.desk import holds


def test_a_static_member_returns_to_its_partitions_without_a_rebalance() -> None:
    holds("""
    > topic a 2
    > A joins a as i
      epoch 1 a0,a1
      log A reads a
      log group 1
      log A shall own a0,a1
      log target 1
      log A at 1 STABLE owns a0,a1
    > A leaves for a while as i
      epoch -2
      log A at -2 STABLE owns a0,a1
    > B joins a as i
      epoch 1 a0,a1
      log A owns nothing
      log A shall own nothing
      log A is gone
      log B reads a
      log B shall own a0,a1
      log B at 0 STABLE owns a0,a1
      log B at 1 STABLE owns a0,a1
    > show
      Stable group 1 target 1
    > A beats at 1 as i
      FENCED_INSTANCE_ID
    > C joins a as i
      UNRELEASED_INSTANCE_ID
    > B beats as unheard
      UNKNOWN_MEMBER_ID
    """)


def test_a_static_member_returns_under_its_own_id() -> None:
    holds("""
    > topic a 1
    > A joins a as i
      epoch 1 a0
      log A reads a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > A leaves for a while as i
      epoch -2
      log A at -2 STABLE owns a0
    > A joins a as i
      epoch 1 a0
      log A at 0 STABLE owns a0
      log A at 1 STABLE owns a0
    > wait 45000
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 2
    > show
      Empty group 2 target 1
    """)


def test_a_static_member_that_does_not_return_is_out_when_its_session_ends() -> None:
    holds("""
    > topic a 2
    > A joins a as i
      epoch 1 a0,a1
      log A reads a
      log group 1
      log A shall own a0,a1
      log target 1
      log A at 1 STABLE owns a0,a1
    > B joins a
      epoch 2 -
      log B reads a
      log group 2
      log A shall own a0
      log B shall own a1
      log target 2
      log B at 2 UNRELEASED_PARTITIONS owns -
    > A leaves for a while as i
      epoch -2
      log A at -2 STABLE owns a0,a1
    > B beats
      epoch 2
    > wait 44999
    > B beats
      epoch 2
    > wait 1
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 3
    > B beats
      epoch 3 a0,a1
      log B shall own a0,a1
      log target 3
      log B at 3 STABLE owns a0,a1
    > show
      Stable group 3 target 3
    """)


def test_a_static_member_leaves_for_good() -> None:
    holds("""
    > topic a 1
    > A joins a as i
      epoch 1 a0
      log A reads a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > B leaves as i
      FENCED_INSTANCE_ID
    > A leaves as j
      UNKNOWN_MEMBER_ID
    > A leaves as i
      epoch -1
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 2
    > show
      Empty group 2 target 1
    """)
