"""Consumer groups from the outside: responses and records. Covers every row of the table in
``reconciliation``.
"""

from __future__ import annotations

from barnabas.coordinators.group.settings import GroupSettings
from tests.unit.coordinators.consumer.desk import holds


def test_the_first_member_gets_everything_and_an_ordinary_heartbeat_writes_nothing() -> None:
    holds("""
    > topic a 2
    > A joins a
      epoch 1 a0,a1
      log A reads a
      log group 1
      log A shall own a0,a1
      log target 1
      log A at 1 STABLE owns a0,a1
    > A beats
      epoch 1
    > A beats owning a0,a1
      epoch 1
    > show
      Stable group 1 target 1
    """)


def test_a_partition_is_given_only_after_its_owner_gave_it_up() -> None:
    holds("""
    > topic a 4
    > A joins a
      epoch 1 a0,a1,a2,a3
      log A reads a
      log group 1
      log A shall own a0,a1,a2,a3
      log target 1
      log A at 1 STABLE owns a0,a1,a2,a3
    > B joins a
      epoch 2 -
      log B reads a
      log group 2
      log A shall own a0,a1
      log B shall own a2,a3
      log target 2
      log B at 2 UNRELEASED_PARTITIONS owns -
    > show
      Reconciling group 2 target 2
    > B beats
      epoch 2
    > A beats owning a0,a1,a2,a3
      epoch 1 a0,a1
      log A at 1 UNREVOKED_PARTITIONS owns a0,a1 revoking a2,a3
    > A beats owning a0,a1,a2,a3
      epoch 1
    > A beats
      epoch 1
    > B beats
      epoch 2
    > A beats owning a0,a1
      epoch 2
      log A at 2 STABLE owns a0,a1
    > B beats
      epoch 2 a2,a3
      log B at 2 STABLE owns a2,a3
    > show
      Stable group 2 target 2
    """)


def test_free_partitions_are_assigned_while_others_are_still_revoked() -> None:
    holds("""
    > topic a 4
    > A joins a
      epoch 1 a0,a1,a2,a3
      log A reads a
      log group 1
      log A shall own a0,a1,a2,a3
      log target 1
      log A at 1 STABLE owns a0,a1,a2,a3
    > topic a 6
    > B joins a
      epoch 2 a4,a5
      log B reads a
      log group 2
      log A shall own a0,a1,a2
      log B shall own a3,a4,a5
      log target 2
      log B at 2 UNRELEASED_PARTITIONS owns a4,a5
    > A beats owning a0,a1,a2
      epoch 2 a0,a1,a2
      log A at 2 STABLE owns a0,a1,a2
    > B beats
      epoch 2 a3,a4,a5
      log B at 2 STABLE owns a3,a4,a5
    > show
      Stable group 2 target 2
    """)


def test_a_newer_target_overtakes_a_revocation_under_way() -> None:
    holds("""
    > topic a 4
    > A joins a
      epoch 1 a0,a1,a2,a3
      log A reads a
      log group 1
      log A shall own a0,a1,a2,a3
      log target 1
      log A at 1 STABLE owns a0,a1,a2,a3
    > B joins a
      epoch 2 -
      log B reads a
      log group 2
      log A shall own a0,a1
      log B shall own a2,a3
      log target 2
      log B at 2 UNRELEASED_PARTITIONS owns -
    > A beats owning a0,a1,a2,a3
      epoch 1 a0,a1
      log A at 1 UNREVOKED_PARTITIONS owns a0,a1 revoking a2,a3
    > B leaves
      epoch -1
      log B owns nothing
      log B shall own nothing
      log B is gone
      log group 3
    > A beats owning a0,a1,a2,a3
      epoch 1
      log A shall own a0,a1,a2,a3
      log target 3
    > A beats owning a0,a1
      epoch 3 a0,a1,a2,a3
      log A at 3 STABLE owns a0,a1,a2,a3
    > A beats
      epoch 3
    > show
      Stable group 3 target 3
    """)


def test_more_partitions_are_noticed_by_the_next_heartbeat() -> None:
    holds("""
    > topic a 1
    > A joins a
      epoch 1 a0
      log A reads a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > topic a 3
    > A beats
      epoch 2 a0,a1,a2
      log group 2
      log A shall own a0,a1,a2
      log target 2
      log A at 2 STABLE owns a0,a1,a2
    > topic unrelated 1
    > A beats
      epoch 2
    """)


def test_a_topic_that_is_deleted_is_revoked_and_comes_back_as_another() -> None:
    holds("""
    > topic a 1
    > topic b 1
    > A joins a,b
      epoch 1 a0,b0
      log A reads a,b
      log group 1
      log A shall own a0,b0
      log target 1
      log A at 1 STABLE owns a0,b0
    > delete b
    > A beats owning a0
      epoch 2 a0
      log group 2
      log A shall own a0
      log target 2
      log A at 2 STABLE owns a0
    > A beats owning a0
      epoch 2
    > topic b 2
    > A beats owning a0
      epoch 3 a0,b0,b1
      log group 3
      log A shall own a0,b0,b1
      log target 3
      log A at 3 STABLE owns a0,b0,b1
    """)


def test_a_topic_that_is_dropped_from_the_subscription_is_taken_away_at_once() -> None:
    holds("""
    > topic a 2
    > topic b 2
    > A joins a,b
      epoch 1 a0,a1,b0,b1
      log A reads a,b
      log group 1
      log A shall own a0,a1,b0,b1
      log target 1
      log A at 1 STABLE owns a0,a1,b0,b1
    > B joins a,b
      epoch 2 -
      log B reads a,b
      log group 2
      log A shall own a0,a1
      log B shall own b0,b1
      log target 2
      log B at 2 UNRELEASED_PARTITIONS owns -
    > A beats owning a0,a1
      epoch 2 a0,a1
      log A at 2 STABLE owns a0,a1
    > A beats owning a0,a1,b0,b1 reading a
      epoch 3
      log A reads a
      log group 3
      log target 3
      log A at 3 STABLE owns a0,a1
    > A beats owning a0,a1
      epoch 3
    > show
      Reconciling group 3 target 3
    """)


def test_a_pattern_follows_the_topics() -> None:
    holds("""
    > topic ab 1
    > topic b 1
    > A joins matching a.*
      epoch 1 a0
      log A reads - matching a.*
      log a.* is ab
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > topic ac 1
    > topic bc 1
    > A beats
      epoch 2 a0,a0
      log a.* is ab,ac
      log group 2
      log A shall own a0,a0
      log target 2
      log A at 2 STABLE owns a0,a0
    > delete ab
    > A beats owning -
      epoch 3 a0
      log a.* is ac
      log group 3
      log A shall own a0
      log target 3
      log A at 3 STABLE owns a0
    > B joins b matching a.*
      epoch 4 b0
      log B reads b matching a.*
      log group 4
      log B shall own b0
      log target 4
      log B at 4 STABLE owns b0
    > A leaves
      epoch -1
      log A owns nothing
      log A shall own nothing
      log A is gone
      log group 5
    > B leaves
      epoch -1
      log B owns nothing
      log B shall own nothing
      log B is gone
      log a.* is gone
      log group 6
    > show
      Empty group 6 target 4
    """)


def test_most_votes_choose_the_assignor() -> None:
    holds("""
    > topic a 2
    > topic b 2
    > A joins a,b with range
      epoch 1 a0,a1,b0,b1
      log A reads a,b
      log group 1
      log A shall own a0,a1,b0,b1
      log target 1
      log A at 1 STABLE owns a0,a1,b0,b1
    > B joins a,b with range
      epoch 2 -
      log B reads a,b
      log group 2
      log A shall own a0,b0
      log B shall own a1,b1
      log target 2
      log B at 2 UNRELEASED_PARTITIONS owns -
    > C joins a,b with uniform
      epoch 3 -
      log C reads a,b
      log group 3
      log C shall own -
      log target 3
      log C at 3 STABLE owns -
    """)


def test_members_that_join_together_are_assigned_together() -> None:
    holds(
        """
    > topic a 4
    > A joins a
      epoch 1 a0,a1,a2,a3
      log A reads a
      log group 1
      log A shall own a0,a1,a2,a3
      log target 1
      log A at 1 STABLE owns a0,a1,a2,a3
    > B joins a
      epoch 1 -
      log B reads a
      log group 2
      log B at 1 STABLE owns -
    > C joins a
      epoch 1 -
      log C reads a
      log group 3
      log C at 1 STABLE owns -
    > show
      Assigning group 3 target 1
    > wait 1000
    > B beats
      epoch 3
      log A shall own a0,a1
      log B shall own a2
      log C shall own a3
      log target 3
      log B at 3 UNRELEASED_PARTITIONS owns -
    > show
      Reconciling group 3 target 3
    """,
        GroupSettings(),
    )


def test_a_dropped_topic_is_taken_away_before_there_is_a_new_target() -> None:
    holds(
        """
    > topic a 1
    > topic b 1
    > A joins a,b
      epoch 1 a0,b0
      log A reads a,b
      log group 1
      log A shall own a0,b0
      log target 1
      log A at 1 STABLE owns a0,b0
    > A beats owning a0,b0 reading a
      epoch 1 a0
      log A reads a
      log group 2
      log A at 1 UNREVOKED_PARTITIONS owns a0 revoking b0
    > A beats owning a0,b0
      epoch 1
    > A beats owning a0
      epoch 1
      log A at 1 STABLE owns a0
    > show
      Assigning group 2 target 1
    > wait 1000
    > A beats owning a0
      epoch 2
      log A shall own a0
      log target 2
      log A at 2 STABLE owns a0
    > show
      Stable group 2 target 2
    """,
        GroupSettings(),
    )


def test_a_dropped_topic_is_added_to_a_revocation_under_way() -> None:
    holds(
        """
    > topic a 3
    > topic b 1
    > A joins a,b
      epoch 1 a0,a1,a2,b0
      log A reads a,b
      log group 1
      log A shall own a0,a1,a2,b0
      log target 1
      log A at 1 STABLE owns a0,a1,a2,b0
    > wait 1000
    > B joins a,b
      epoch 2 -
      log B reads a,b
      log group 2
      log A shall own a0,a1
      log B shall own a2,b0
      log target 2
      log B at 2 UNRELEASED_PARTITIONS owns -
    > A beats owning a0,a1,a2,b0
      epoch 1 a0,a1
      log A at 1 UNREVOKED_PARTITIONS owns a0,a1 revoking a2,b0
    > A beats owning a0,a1,a2,b0 reading b
      epoch 1 -
      log A reads b
      log group 3
      log A at 1 UNREVOKED_PARTITIONS owns - revoking a0,a1,a2,b0
    > A beats owning a0
      epoch 1
    > A beats owning -
      epoch 2
      log A at 2 STABLE owns -
    > B beats
      epoch 2 a2,b0
      log B at 2 STABLE owns a2,b0
    > wait 1000
    > B beats
      epoch 2 a2
      log A shall own b0
      log B shall own a0,a1,a2
      log target 3
      log B at 2 UNREVOKED_PARTITIONS owns a2 revoking b0
    > A beats
      epoch 3
      log A at 3 UNRELEASED_PARTITIONS owns -
    > B beats
      epoch 2
    """,
        GroupSettings(),
    )
