"""Members of a streams group come and go, and tasks follow them one step at a time."""

from __future__ import annotations

from barnabas.coordinators.group.bounded_setting import BoundedSetting
from barnabas.coordinators.group.streams.member import MemberState
from barnabas.coordinators.group.streams.settings import StreamsGroupSettings
from barnabas.coordinators.group.streams.statuses import StatusCode
from barnabas.model.errors import ErrorCode
from tests.streams_heartbeats import internal, subtopology, topology
from tests.unit.coordinators.streams.desk import AT_ONCE, StreamsDesk

STATELESS = topology(subtopology("0", "four"))
STATEFUL = topology(subtopology("0", "four", changelogs=[internal("log")]))


def desk(settings: StreamsGroupSettings = AT_ONCE) -> StreamsDesk:
    made = StreamsDesk(settings)
    made.topic("four", 4)
    made.topic("log", 4)
    return made


def test_the_first_member_gets_all_tasks_at_once() -> None:
    at = desk()
    response = at.joins("a", STATELESS)
    assert (response.member_epoch, at.streams["a"].active) == (2, {"0": [0, 1, 2, 3]})
    assert at.streams_group.state_name == "Stable"
    assert at.written() == [
        "Topology",
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
    ]


def test_a_heartbeat_without_news_writes_nothing() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.written()
    response = at.beats("a")
    assert (response.active_tasks, at.written()) == (None, [])


def test_a_task_moves_only_after_its_owner_has_revoked_it() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.joins("b", STATELESS)
    assert at.streams["b"].active == {}
    assert at.streams_group.members["b"].ownership.state is MemberState.UNRELEASED_TASKS
    before = at.streams["a"].active
    at.beats("a")  # It learns that it must revoke.
    assert at.streams_group.state_name == "Reconciling"
    at.beats("b")
    assert at.streams["b"].active == {}
    at.beats("a", active=before)  # It still has them.
    at.beats("b")
    assert at.streams["b"].active == {}
    at.beats("a")
    at.beats("b")
    assert sorted(at.streams["a"].active["0"] + at.streams["b"].active["0"]) == [0, 1, 2, 3]
    assert at.streams_group.state_name == "Stable"


def test_threads_of_one_process_exchange_a_task_after_it_was_revoked() -> None:
    at = desk()
    at.joins("a", STATELESS, process_id="p")
    at.joins("b", STATELESS, process_id="p")
    assert at.streams["b"].active == {}
    at.settle("a", "b")
    assert [len(tasks["0"]) for tasks in at.owned().values()] == [2, 2]


def test_a_standby_copy_never_runs_in_the_process_of_its_active_task() -> None:
    at = desk()
    at.own_settings = {"streams.num.standby.replicas": "1"}
    at.joins("a1", STATEFUL, process_id="a")
    at.joins("a2", STATEFUL, process_id="a")
    at.settle("a1", "a2")
    assert all(not member.standby for member in at.streams.values())
    at.joins("b", STATEFUL, process_id="b")
    at.settle("a1", "a2", "b")
    for name, others in (("a", ("b",)), ("b", ("a1", "a2"))):
        active = {task for member, tasks in at.owned().items() if member[0] == name for task in tasks.get("0", [])}
        standby = {task for other in others for task in at.streams[other].standby.get("0", [])}
        assert active == standby
    assert at.streams_group.state_name == "Stable"


def test_a_member_that_leaves_frees_its_tasks_for_the_others() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.joins("b", STATELESS)
    at.settle("a", "b")
    response = at.leaves("a")
    assert (response.error_code, response.member_epoch) == (ErrorCode.NONE, -1)
    at.beats("b")
    assert at.streams["b"].active == {"0": [0, 1, 2, 3]}


def test_a_silent_member_loses_its_place_at_the_end_of_its_session() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.wait(44_999)
    assert "a" in at.streams_group.members
    at.wait(1)
    assert at.streams_group.state_name == "Empty"


def test_a_member_that_does_not_revoke_in_time_is_removed() -> None:
    at = desk()
    at.joins("a", STATELESS, rebalance_timeout_ms=20_000)
    before = at.streams["a"].active
    at.joins("b", STATELESS)
    at.beats("a")
    at.wait(15_000)
    at.beats("a", active=before)
    at.wait(5_000)
    assert set(at.streams_group.members) == {"b"}


def test_the_first_target_of_a_group_waits_for_further_members() -> None:
    at = desk(StreamsGroupSettings(assignment_interval_ms=AT_ONCE.assignment_interval_ms))
    at.joins("a", STATELESS)
    assert (at.streams["a"].epoch, at.streams["a"].statuses) == (1, [StatusCode.ASSIGNMENT_DELAYED])
    at.wait(2_000)
    at.joins("b", STATELESS)
    assert at.streams["b"].active == {}
    at.wait(1_000)  # The second member does not extend the delay.
    at.beats("a")
    at.beats("b")
    assert [len(tasks["0"]) for tasks in at.owned().values()] == [2, 2]


def test_a_group_that_becomes_empty_delays_its_next_target_again() -> None:
    at = desk(StreamsGroupSettings(assignment_interval_ms=AT_ONCE.assignment_interval_ms))
    at.joins("a", STATELESS)
    at.wait(3_000)
    at.beats("a")
    at.leaves("a")
    at.joins("b", STATELESS)
    assert at.streams["b"].statuses == [StatusCode.ASSIGNMENT_DELAYED]


def test_targets_are_computed_at_most_once_in_an_interval() -> None:
    interval = BoundedSetting("streams.assignment.interval.ms", 1_000, 0, 15_000)
    at = desk(StreamsGroupSettings(assignment_interval_ms=interval, initial_rebalance_delay_ms=AT_ONCE.initial_rebalance_delay_ms))
    at.joins("a", STATELESS)
    at.joins("b", STATELESS)
    assert at.streams["b"].statuses == [StatusCode.ASSIGNMENT_DELAYED]
    assert at.streams_group.state_name == "Assigning"
    at.wait(1_000)
    at.settle("a", "b")
    assert at.streams_group.state_name == "Stable"


def test_a_changed_number_of_standby_replicas_starts_a_rebalance() -> None:
    at = desk()
    at.joins("a", STATEFUL)
    at.joins("b", STATEFUL)
    at.settle("a", "b")
    epoch = at.streams_group.epoch
    at.own_settings = {"streams.num.standby.replicas": "1"}
    at.settle("a", "b")
    assert at.streams_group.epoch == epoch + 1
    assert all(member.standby for member in at.streams.values())


def test_a_full_group_refuses_new_members_and_keeps_its_own() -> None:
    at = desk(StreamsGroupSettings(AT_ONCE.session_timeout_ms, initial_rebalance_delay_ms=AT_ONCE.initial_rebalance_delay_ms, size_max=1))
    at.joins("a", STATELESS)
    assert at.joins("b", STATELESS).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert at.joins("a", STATELESS).error_code == ErrorCode.NONE


def test_a_request_to_shut_down_reaches_all_members_until_the_group_is_empty() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.joins("b", STATELESS)
    at.beats("a", shutdown_application=True)
    at.beats("b")
    assert StatusCode.SHUTDOWN_APPLICATION in at.streams["b"].statuses
    at.leaves("a")
    at.leaves("b")
    at.joins("c", STATELESS)
    assert at.streams["c"].statuses == []


def test_a_member_that_asks_for_a_shutdown_while_it_leaves_is_heard() -> None:
    at = desk()
    at.joins("a", STATELESS)
    at.joins("b", STATELESS)
    at.leaves("a", shutdown_application=True)
    at.beats("b")
    assert StatusCode.SHUTDOWN_APPLICATION in at.streams["b"].statuses
