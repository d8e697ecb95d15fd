"""Members that are silent, wrong or late; logs that refuse records; brokers that take over."""

from __future__ import annotations

from tests.unit.coordinators.consumer.desk import holds


def test_a_member_that_does_not_revoke_in_time_is_out() -> None:
    holds("""
    > topic a 2
    > A joins a timeout 1000
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
    > A beats owning a0,a1
      epoch 1 a0
      log A at 1 UNREVOKED_PARTITIONS owns a0 revoking a1
    > wait 999
    > show
      Reconciling group 2 target 2
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
    > A beats owning a0
      UNKNOWN_MEMBER_ID
    > show
      Stable group 3 target 3
    """)


def test_a_silent_member_is_out_when_its_session_ends() -> None:
    holds("""
    > topic a 2
    > A joins a
      epoch 1 a0,a1
      log A reads a
      log group 1
      log A shall own a0,a1
      log target 1
      log A at 1 STABLE owns a0,a1
    > wait 44999
    > A beats
      epoch 1
    > wait 44999
    > show
      Stable group 1 target 1
    > wait 1
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 2
    > show
      Empty group 2 target 1
    > A beats
      UNKNOWN_MEMBER_ID
    """)


def test_the_answer_with_the_new_epoch_may_get_lost_once() -> None:
    holds("""
    > topic a 2
    > A joins a
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
    > A beats owning a0
      epoch 2 a0
      log A at 2 STABLE owns a0
    > A beats at 1 owning a0
      epoch 2
    > A beats at 1 owning a0,a1
      FENCED_MEMBER_EPOCH
    > A beats at 1
      FENCED_MEMBER_EPOCH
    > A beats at 9
      FENCED_MEMBER_EPOCH
    > A beats at 2
      epoch 2
    """)


def test_an_unknown_member_is_refused() -> None:
    holds("""
    > A beats at 1
      GROUP_ID_NOT_FOUND
    > A leaves
      GROUP_ID_NOT_FOUND
    > topic a 1
    > A joins a
      epoch 1 a0
      log A reads a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > B beats at 1
      UNKNOWN_MEMBER_ID
    > B leaves
      UNKNOWN_MEMBER_ID
    > B leaves for a while as i
      UNKNOWN_MEMBER_ID
    """)


def test_the_log_refuses_and_nothing_has_happened() -> None:
    holds("""
    > topic a 2
    > A joins a
      epoch 1 a0,a1
      log A reads a
      log group 1
      log A shall own a0,a1
      log target 1
      log A at 1 STABLE owns a0,a1
    > refuse NOT_ENOUGH_REPLICAS
    > B joins a
      NOT_ENOUGH_REPLICAS
    > topic a 4
    > A beats
      NOT_ENOUGH_REPLICAS
    > A leaves
      NOT_ENOUGH_REPLICAS
    > show
      Stable group 1 target 1
    > refuse NONE
    > A beats
      epoch 2 a0,a1,a2,a3
      log group 2
      log A shall own a0,a1,a2,a3
      log target 2
      log A at 2 STABLE owns a0,a1,a2,a3
    > wait 45000
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 3
    """)


def test_a_session_that_ends_while_the_log_refuses_ends_later() -> None:
    holds("""
    > topic a 2
    > A joins a
      epoch 1 a0,a1
      log A reads a
      log group 1
      log A shall own a0,a1
      log target 1
      log A at 1 STABLE owns a0,a1
    > refuse NOT_ENOUGH_REPLICAS
    > wait 45000
    > show
      Stable group 1 target 1
    > refuse NONE
    > wait 45000
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 2
    > show
      Empty group 2 target 1
    """)


def test_another_broker_takes_over_in_the_middle_of_a_revocation() -> None:
    holds("""
    > topic a 2
    > A joins a timeout 1000
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
    > A beats owning a0,a1
      epoch 1 a0
      log A at 1 UNREVOKED_PARTITIONS owns a0 revoking a1
    > reload
    > show
      Reconciling group 2 target 2
    > B beats
      epoch 2
    > wait 1000
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 3
    > B beats
      epoch 3 a0,a1
      log B shall own a0,a1
      log target 3
      log B at 3 STABLE owns a0,a1
    > reload
    > show
      Stable group 3 target 3
    > wait 45000
      log B owns nothing
      log B shall own nothing
      log B is gone
      log group 4
    """)
