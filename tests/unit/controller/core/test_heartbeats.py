"""Heartbeats make a broker active, fenced, or free to stop."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.metadata_records import BrokerRegistrationChangeRecord
from tests.unit.controller.core.deciding import Office
from tests.unit.controller.core.test_brokers import SESSION_MS, beat, kinds, registration
from tests.unit.metadata.made import partition, registered, topic, uuid

# -- staying alive ----------------------------------------------------------------------------


def test_a_broker_that_has_seen_its_own_registration_is_unfenced() -> None:
    office = Office()
    epoch = office.ask(registration()).broker_epoch
    behind = office.decide(beat(epoch, offset=epoch - 1))
    assert (behind.response.is_caught_up, behind.response.is_fenced, behind.records) == (False, True, [])
    there = office.decide(beat(epoch, offset=epoch))
    assert (there.response.is_caught_up, there.response.is_fenced) == (True, False)
    assert office.image.cluster.brokers[1].active
    again = office.decide(beat(epoch))
    assert (again.response.is_fenced, again.records) == (False, [])


def test_a_broker_that_asks_to_be_fenced_is_fenced() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2])])
    outcome = office.decide(beat(101, fence=True))
    assert outcome.response.is_fenced
    assert office.image.topics.by_name["t"].partitions[0].leader == 2
    assert office.decide(beat(101, fence=True)).records == []


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (beat(5, broker_id=9), ErrorCode.STALE_BROKER_EPOCH),
        (beat(100), ErrorCode.STALE_BROKER_EPOCH),
        (beat(102), ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_heartbeats_of_strangers_and_zombies_are_refused(request_: BrokerHeartbeatRequest, error: ErrorCode) -> None:
    outcome = Office([registered(1)]).decide(request_)
    assert (outcome.response.error_code, outcome.records) == (error, ())
    assert not outcome.response.should_shut_down


# -- silent brokers ---------------------------------------------------------------------------


def test_a_silent_broker_is_fenced_when_its_session_is_over_and_not_before() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2])])
    office.wait(1000)
    office.ask(beat(101))
    office.ask(beat(102, broker_id=2))
    assert office.controller.next_deadline_ms == office.now_ms + SESSION_MS + 1
    office.wait(5000)
    office.ask(beat(102, broker_id=2))
    assert office.wait(SESSION_MS - 5000) == []
    assert kinds(office.wait(1)) == ["PartitionChangeRecord", "BrokerRegistrationChangeRecord"]
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr) == (2, (2,))
    assert office.image.cluster.brokers[1].fenced
    assert office.wait(1) == []


def test_a_new_controller_gives_every_broker_a_whole_session() -> None:
    office = Office([registered(1), registered(2, fenced=True)])
    assert office.wait(SESSION_MS) == []
    (change,) = office.wait(1)
    assert isinstance(change, BrokerRegistrationChangeRecord)
    assert (change.broker_id, change.fenced) == (1, 1)


def test_brokers_that_are_lost_together_do_not_take_over_each_others_partitions() -> None:
    office = Office([*(registered(each) for each in (1, 2, 3)), *topic(1, "t", [1, 2, 3], [2, 1, 3])])
    office.wait(1)
    office.ask(beat(103, broker_id=3))
    office.wait(SESSION_MS)
    assert {(each.leader, each.isr) for each in office.image.topics.by_name["t"].partitions.values()} == {(3, (3,))}


def test_a_fenced_broker_is_unfenced_by_its_next_heartbeat() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1])])
    office.wait(SESSION_MS + 1)
    answer = office.decide(beat(101))
    assert (answer.response.is_fenced, kinds(answer.records)) == (False, ["BrokerRegistrationChangeRecord", "PartitionChangeRecord"])
    state = office.image.topics.by_name["t"].partitions[0]
    # It kept its log, because it was not restarted.
    assert (state.leader, state.isr, state.leader_recovery_state) == (1, (1,), 0)


def test_heartbeats_of_an_old_incarnation_extend_no_session() -> None:
    office = Office([registered(1)])
    for _ in range(10):
        office.wait(SESSION_MS // 10)
        office.ask(beat(99))
    office.wait(1)
    assert office.image.cluster.brokers[1].fenced


# -- leaving ----------------------------------------------------------------------------------


def test_a_broker_that_asks_to_stop_gives_up_its_leaderships_first() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2], [2, 1])])
    outcome = office.decide(beat(101, stop=True))
    assert kinds(outcome.records) == ["BrokerRegistrationChangeRecord", "PartitionChangeRecord", "PartitionChangeRecord"]
    assert (outcome.response.should_shut_down, outcome.response.is_fenced) == (False, False)
    assert {each.leader for each in office.image.topics.by_name["t"].partitions.values()} == {2}
    broker = office.image.cluster.brokers[1]
    assert (broker.in_controlled_shutdown, broker.active) == (True, False)


def test_a_broker_may_stop_when_all_active_brokers_know_the_new_leaders() -> None:
    office = Office([registered(1), registered(2), registered(3, fenced=True), *topic(1, "t", [1, 2])])
    office.ask(beat(102, broker_id=2, offset=50))
    office.decide(beat(101, stop=True))
    moved = office.next_offset - 1
    assert not office.ask(beat(101, stop=True, offset=moved)).should_shut_down
    office.ask(beat(102, broker_id=2, offset=moved))
    assert not office.ask(beat(101, stop=True, offset=moved - 1)).should_shut_down
    stopped = office.decide(beat(101, stop=True, offset=moved))
    assert (stopped.response.should_shut_down, stopped.response.is_fenced, kinds(stopped.records)) == (
        True,
        True,
        ["BrokerRegistrationChangeRecord"],
    )


def test_a_broker_that_leads_nothing_may_stop_at_once_and_leaves_the_in_sync_replicas() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [2, 1])])
    stopped = office.decide(beat(101, stop=True))
    assert (stopped.response.should_shut_down, kinds(stopped.records)) == (
        True,
        ["PartitionChangeRecord", "BrokerRegistrationChangeRecord"],
    )
    assert office.image.topics.by_name["t"].partitions[0].isr == (2,)


def test_a_fenced_broker_may_stop_at_once() -> None:
    outcome = Office([registered(1, fenced=True)]).decide(beat(101, stop=True, fence=True))
    assert (outcome.response.should_shut_down, outcome.records) == (True, [])


def test_a_partition_whose_only_replica_stops_has_no_leader_and_an_eligible_one() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    office.decide(beat(101, stop=True))
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.eligible_leader_replicas, state.last_known_elr) == (-1, (), (1,), (1,))
    assert office.ask(beat(101, stop=True)).should_shut_down


def test_a_broker_in_controlled_shutdown_does_not_lead_again() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1])])
    office.ask(beat(101, stop=True))
    office.wait(SESSION_MS + 1)
    answer = office.decide(beat(101))
    assert (answer.response.is_fenced, answer.records) == (True, [])


def test_a_new_controller_lets_a_stopping_broker_go_that_leads_nothing_any_more() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2])])
    office.decide(beat(101, stop=True))
    office.controller.activate(office.image, [], next_offset=office.next_offset, now_ms=office.now_ms)
    assert office.ask(beat(101, stop=True)).should_shut_down


# -- directories ------------------------------------------------------------------------------


def reporting(offline: list[Uuid], cordoned: list[Uuid] | None = None) -> BrokerHeartbeatRequest:
    request = beat(101)
    request.offline_log_dirs, request.cordoned_log_dirs = offline, cordoned
    return request


def test_replicas_in_a_directory_that_failed_are_led_by_others() -> None:
    places = [[uuid(10), uuid(20)], [uuid(11), uuid(20)]]
    records = [partition(1, index, [1, 2], directories=place) for index, place in enumerate(places)]
    office = Office([registered(1, directories=2), registered(2), topic(1, "t")[0], *records])
    outcome = office.decide(reporting([uuid(11)]))
    assert kinds(outcome.records) == ["PartitionChangeRecord", "BrokerRegistrationChangeRecord"]
    assert [each.leader for each in office.image.topics.by_name["t"].partitions.values()] == [1, 2]
    assert office.image.cluster.brokers[1].directories == (uuid(10),)
    assert office.decide(reporting([uuid(11)])).records == []


def test_a_broker_that_has_lost_all_its_directories_is_fenced_and_stays_so() -> None:
    office = Office([registered(1, directories=2), registered(2), *topic(1, "t", [1, 2])])
    assert office.ask(reporting([uuid(10), uuid(11)])).is_fenced
    assert office.image.topics.by_name["t"].partitions[0].leader == 2
    again = office.decide(reporting([uuid(10), uuid(11)]))
    assert (again.response.is_fenced, again.records) == (True, [])


def test_directories_that_the_broker_never_had_do_not_matter() -> None:
    assert Office([registered(1)]).decide(reporting([uuid(77)])).records == []


def test_cordoned_directories_are_remembered() -> None:
    office = Office([registered(1, directories=2)])
    assert kinds(office.decide(reporting([], [uuid(11)])).records) == ["BrokerRegistrationChangeRecord"]
    assert office.image.cluster.brokers[1].cordoned_directories == (uuid(11),)
    assert office.decide(reporting([], [uuid(11)])).records == []
    assert office.decide(reporting([], None)).records == []
    office.ask(reporting([], []))
    assert not office.image.cluster.brokers[1].cordoned_directories
