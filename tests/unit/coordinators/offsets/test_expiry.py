"""Expired offsets are deleted, and with the last of them their group."""

from __future__ import annotations

import pytest

from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.model.errors import ErrorCode
from tests.unit.coordinators.offsets.desk import HOUR_MS, NOW_MS, Crew, Desk

KEPT_MS = 10 * HOUR_MS
SETTINGS = GroupSettings(offsets_retention_ms=KEPT_MS, offsets_retention_check_ms=60_000)


@pytest.fixture
def desk() -> Desk:
    return Desk(SETTINGS)


def busy(desk: Desk, *topics: str, protocol_type: str = "consumer", kind: GroupKind = GroupKind.CLASSIC) -> Crew:
    return desk.group(protocol_type=protocol_type, state_name="Stable", empty_since_ms=None, topics=frozenset(topics), kind=kind)


def test_a_simple_groups_offsets_grow_old_from_their_commit_each_for_itself(desk: Desk) -> None:
    desk.commit(("t", 0, 1))
    desk.pass_time(5 * HOUR_MS)
    desk.commit(("t", 1, 2))
    desk.pass_time(6 * HOUR_MS)
    assert desk.fetch() == {("t", 1): 2}
    assert desk.groups == ["g"]


def test_a_group_without_offsets_and_members_goes_with_its_last_offset(desk: Desk) -> None:
    desk.commit(("t", 0, 1))
    desk.pass_time(KEPT_MS + 60_000)
    assert desk.fetch() == {}
    assert desk.groups == []
    desk.restart()
    assert desk.groups == []


def test_an_offset_is_kept_until_the_minute(desk: Desk) -> None:
    desk.commit(("t", 0, 1))
    desk.pass_time(KEPT_MS - 1)
    assert desk.fetch() == {("t", 0): 1}


def test_offsets_of_a_group_that_has_members_do_not_grow_old(desk: Desk) -> None:
    busy(desk, "t")
    desk.commit(("t", 0, 1))
    desk.pass_time(10 * KEPT_MS)
    assert desk.fetch() == {("t", 0): 1}


def test_offsets_of_an_empty_group_age_from_the_leave_of_its_last_member(desk: Desk) -> None:
    group = busy(desk, "t")
    desk.commit(("t", 0, 1))
    desk.pass_time(10 * KEPT_MS)
    group.state_name, group.empty_since_ms, group.topics = "Empty", desk.now_ms, frozenset()
    desk.pass_time(KEPT_MS - 1)
    assert desk.fetch() == {("t", 0): 1}
    desk.pass_time(60_001)
    assert desk.fetch() == {}
    assert desk.groups == []


def test_a_group_that_does_not_say_since_when_it_is_empty_goes_by_its_commits(desk: Desk) -> None:
    desk.group(protocol_type="consumer", empty_since_ms=-1)
    desk.commit(("t", 0, 1))
    desk.pass_time(KEPT_MS - 1)
    assert desk.fetch() == {("t", 0): 1}
    desk.pass_time(60_001)
    assert desk.fetch() == {}


@pytest.mark.parametrize("kind", [kind for kind in GroupKind if kind is not GroupKind.SHARE])
def test_offsets_of_unsubscribed_topics_expire_in_a_live_consumer_group(desk: Desk, kind: GroupKind) -> None:
    busy(desk, "t", kind=kind)
    desk.commit(("t", 0, 1), ("given up", 0, 2))
    desk.pass_time(KEPT_MS + 60_000)
    assert desk.fetch() == {("t", 0): 1}
    assert desk.groups == ["g"]


def test_offsets_of_a_rebalancing_classic_group_do_not_expire(desk: Desk) -> None:
    busy(desk, "t").state_name = "PreparingRebalance"
    desk.commit(("given up", 0, 2))
    desk.pass_time(10 * KEPT_MS)
    assert desk.fetch() == {("given up", 0): 2}


def test_offsets_of_protocols_with_unknown_topics_do_not_expire(desk: Desk) -> None:
    busy(desk, protocol_type="connect")
    desk.commit(("t", 0, 2))
    desk.pass_time(10 * KEPT_MS)
    assert desk.fetch() == {("t", 0): 2}


def test_a_commit_may_say_itself_how_long_it_is_kept(desk: Desk) -> None:
    desk.commit(("t", 0, 1), version=4, retention_time_ms=HOUR_MS)
    desk.commit(("t", 1, 1), version=4, retention_time_ms=20 * HOUR_MS)
    desk.restart()
    desk.pass_time(HOUR_MS + 60_000)
    assert desk.fetch() == {("t", 1): 1}
    desk.pass_time(KEPT_MS)
    assert desk.fetch() == {("t", 1): 1}
    desk.pass_time(KEPT_MS)
    assert desk.fetch() == {}


def test_pending_transactional_offsets_do_not_expire(desk: Desk) -> None:
    desk.commit(("t", 0, 1))
    desk.commit_in_transaction(("t", 0, 2))
    desk.pass_time(2 * KEPT_MS)
    assert desk.fetch() == {("t", 0): 1}
    desk.end(committed=False)
    desk.pass_time(60_000)
    assert desk.fetch() == {}


def test_a_group_whose_only_offsets_are_pending_stays(desk: Desk) -> None:
    desk.commit_in_transaction(("t", 0, 2))
    desk.pass_time(2 * KEPT_MS)
    assert desk.groups == ["g"]


def test_many_offsets_expire_in_batches_that_a_log_takes(desk: Desk) -> None:
    topic = "t" * 249
    for start in range(0, 3_000, 500):
        desk.commit(*((topic, index, 1) for index in range(start, start + 500)))
    written = len(desk.log.batches)
    desk.pass_time(KEPT_MS + 120_000)
    assert desk.fetch() == {}
    assert desk.groups == []
    deletions = desk.log.batches[written:]
    assert len(deletions) > 2
    assert max(len(batch) for batch in deletions) < 1_000_000


def test_a_log_that_refuses_is_asked_again_at_the_next_check(desk: Desk) -> None:
    desk.commit(("t", 0, 1))
    desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.pass_time(2 * KEPT_MS)
    assert desk.fetch() == {("t", 0): 1}
    desk.log.refusal = ErrorCode.NONE
    desk.pass_time(60_000)
    assert desk.fetch() == {}


def test_the_check_comes_as_often_as_configured(desk: Desk) -> None:
    assert desk.runtime.next_deadline_ms == NOW_MS + 60_000
    desk.pass_time(60_000)
    assert desk.runtime.next_deadline_ms == NOW_MS + 120_000
