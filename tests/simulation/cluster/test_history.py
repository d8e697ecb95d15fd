"""The checker catches nodes that break a claim. Each test plants one violation."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from barnabas.simulation.history import CommittedLog, Leaders, ReadLog, Written
from barnabas.simulation.violations import Violation


def log_of(*batches: Written) -> ReadLog:
    def read(start: int, end: int) -> Iterable[Written]:
        return [each for each in batches if each.end_offset > start and each.base_offset < end]

    return read


A = Written(0, 2, 1, 11)
B = Written(2, 3, 1, 22)
C = Written(3, 6, 2, 33)


def test_one_node_may_lead_an_epoch_and_another_the_next() -> None:
    leaders = Leaders("quorum")
    leaders.leads("n1", 1)
    leaders.leads("n1", 1)
    leaders.leads("n2", 2)
    assert leaders.leader_of(2) == "n2"


def test_two_leaders_of_one_epoch_are_found() -> None:
    leaders = Leaders("quorum")
    leaders.leads("n1", 1)
    with pytest.raises(Violation, match="n2 leads epoch 1, and so does n1"):
        leaders.leads("n2", 1)


def test_two_votes_in_one_epoch_are_found() -> None:
    leaders = Leaders("quorum")
    leaders.votes("n1", 3, candidate=1)
    leaders.votes("n1", 3, candidate=1)
    with pytest.raises(Violation, match="votes for 2 in epoch 3"):
        leaders.votes("n1", 3, candidate=2)


def test_nodes_that_agree_cause_no_violation() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    committed.committed("n2", 2, log_of(A, B))
    committed.committed("n2", 6, log_of(A, B, C))
    committed.committed("n1", 6, log_of(A, B, C))
    assert committed.batches == [A, B, C]


def test_another_batch_at_a_committed_offset_is_found() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    with pytest.raises(Violation, match="n2 has"):
        committed.committed("n2", 3, log_of(A, Written(2, 3, 1, 99)))


def test_a_batch_of_another_epoch_at_a_committed_offset_is_found() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    with pytest.raises(Violation, match="n2 has"):
        committed.committed("n2", 3, log_of(A, Written(2, 3, 2, 22)))


def test_a_high_watermark_that_falls_is_found() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    with pytest.raises(Violation, match="falls from 3 to 2"):
        committed.committed("n1", 2, log_of(A, B))


def test_a_restarted_node_may_lower_its_high_watermark_but_not_change_its_log() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    committed.forget_node("n1")
    committed.committed("n1", 2, log_of(A))
    with pytest.raises(Violation, match="n1 has"):
        committed.committed("n1", 3, log_of(A, Written(2, 3, 4, 22)))


def test_a_leader_that_lacks_a_committed_batch_is_found() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    with pytest.raises(Violation, match="ends at 2, but 3 was committed"):
        committed.leads("n2", 2, log_of(A))


def test_a_leader_of_an_earlier_epoch_may_lack_batches_of_a_later_one() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    committed.committed("n3", 6, log_of(A, B, C))
    committed.leads("n2", 3, log_of(A, B), epoch=C.epoch)
    with pytest.raises(Violation, match="ends at 3, but 6 was committed"):
        committed.leads("n2", 3, log_of(A, B), epoch=C.epoch + 1)


def test_a_leader_with_another_batch_at_a_committed_offset_is_found() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    with pytest.raises(Violation, match="n2 has"):
        committed.leads("n2", 4, log_of(A, Written(2, 4, 1, 7)))


def test_a_leader_with_a_hole_is_found() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 3, log_of(A, B))
    with pytest.raises(Violation, match="nothing at 2"):
        committed.leads("n2", 6, log_of(A, C))


def test_a_high_watermark_above_the_log_is_found() -> None:
    committed = CommittedLog("quorum")
    with pytest.raises(Violation, match="nothing at 3"):
        committed.committed("n1", 4, log_of(A, B))


def test_a_high_watermark_inside_a_batch_is_found() -> None:
    committed = CommittedLog("quorum")
    with pytest.raises(Violation, match="half of"):
        committed.committed("n1", 1, log_of(A))


def test_batches_after_a_truncation_are_checked_again() -> None:
    committed = CommittedLog("quorum")
    committed.committed("n1", 6, log_of(A, B, C))
    committed.committed("n2", 3, log_of(A, B))
    committed.leads("n2", 6, log_of(A, B, C))
    committed.cut("n2", 2)
    with pytest.raises(Violation, match="n2 has"):
        committed.leads("n2", 6, log_of(A, Written(2, 3, 9, 22), C))
