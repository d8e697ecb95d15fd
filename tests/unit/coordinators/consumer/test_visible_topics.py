"""A regular expression matches only topics that the member may describe."""

from __future__ import annotations

from tests.unit.coordinators.consumer.desk import holds


def test_a_pattern_leaves_out_topics_that_the_member_may_not_describe() -> None:
    holds("""
    > topic a 1
    > topic b 1
    > hide b
    > A joins matching .*
      epoch 1 a0
      log A reads - matching .*
      log .* is a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    """)


def test_a_pattern_is_matched_again_when_rules_change() -> None:
    holds("""
    > topic a 1
    > topic b 1
    > hide b
    > A joins matching .*
      epoch 1 a0
      log A reads - matching .*
      log .* is a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > reveal b
    > A beats
      epoch 2 a0,b0
      log .* is a,b
      log group 2
      log A shall own a0,b0
      log target 2
      log A at 2 STABLE owns a0,b0
    > hide a
    > A beats
      epoch 2 b0
      log .* is b
      log group 3
      log A shall own b0
      log target 3
      log A at 2 UNREVOKED_PARTITIONS owns b0 revoking a0
    > A beats owning b0
      epoch 3
      log A at 3 STABLE owns b0
    > show
      Stable group 3 target 3
    """)


def test_a_new_topic_that_is_hidden_changes_nothing() -> None:
    holds("""
    > topic a 1
    > A joins matching .*
      epoch 1 a0
      log A reads - matching .*
      log .* is a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > hide b
    > topic b 1
    > A beats
      epoch 1
    > reveal b
    > A beats
      epoch 2 a0,b0
      log .* is a,b
      log group 2
      log A shall own a0,b0
      log target 2
      log A at 2 STABLE owns a0,b0
    """)


def test_patterns_are_not_matched_while_a_member_leaves() -> None:
    """The coordinator does not know what the remaining members may see."""
    holds("""
    > topic a 1
    > A joins matching .*
      epoch 1 a0
      log A reads - matching .*
      log .* is a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    > B joins a
      epoch 2 -
      log B reads a
      log group 2
      log B shall own -
      log target 2
      log B at 2 STABLE owns -
    > topic b 1
    > hide b
    > B leaves
      epoch -1
      log B owns nothing
      log B shall own nothing
      log B is gone
      log group 3
    > A beats
      epoch 3
      log target 3
      log A at 3 STABLE owns a0
    > reveal b
    > A beats
      epoch 4 a0,b0
      log .* is a,b
      log group 4
      log A shall own a0,b0
      log target 4
      log A at 4 STABLE owns a0,b0
    """)


def test_names_are_not_affected() -> None:
    """The handler refuses names that the member may not describe."""
    holds("""
    > topic a 1
    > hide a
    > A joins a
      epoch 1 a0
      log A reads a
      log group 1
      log A shall own a0
      log target 1
      log A at 1 STABLE owns a0
    """)
