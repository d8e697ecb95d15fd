"""Registration, heartbeats and the controlled stop, as requests and records."""

from __future__ import annotations

import pytest

from barnabas.controller.features import SUPPORTED_FEATURES
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.metadata_records import MetadataRecord, PartitionChangeRecord, RegisterBrokerRecord
from tests.unit.controller.deciding import CLUSTER_ID, Office
from tests.unit.metadata.made import registered, topic, uuid

OFFERED = [
    Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
    for name, levels in SUPPORTED_FEATURES.items()
]


def registration(
    *,
    broker_id: int = 1,
    cluster_id: str = CLUSTER_ID,
    incarnation: int = 1,
    directories: list[Uuid] | None = None,
    features: list[Feature] | None = None,
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=uuid(incarnation),
        listeners=[Listener(name="PLAINTEXT", host="h", port=9, security_protocol=0)],
        features=OFFERED if features is None else features,
        rack="r",
        log_dirs=[uuid(50)] if directories is None else directories,
    )


def beat(epoch: int, *, broker_id: int = 1, offset: int = 10**6, fence: bool = False, stop: bool = False) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(
        broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=offset, want_fence=fence, want_shut_down=stop
    )


def kinds(records: object) -> list[str]:
    assert isinstance(records, list)
    return [type(record).__name__ for record in records]


# -- registering --------------------------------------------------------------------------------------------------------------


def test_a_new_broker_is_registered_fenced_with_the_offset_of_its_record_for_an_epoch() -> None:
    office = Office()
    outcome = office.decide(registration())
    (record,) = outcome.records
    assert isinstance(record, RegisterBrokerRecord)
    assert (outcome.response.error_code, outcome.response.broker_epoch, record.broker_epoch) == (0, 100, 100)
    broker = office.image.cluster.brokers[1]
    assert (broker.fenced, broker.rack, broker.directories) == (True, "r", (uuid(50),))
    assert broker.endpoint("PLAINTEXT") is not None


def test_the_same_process_asking_again_gets_the_same_epoch_and_writes_nothing() -> None:
    office = Office()
    first = office.ask(registration())
    again = office.decide(registration())
    assert (again.response.broker_epoch, again.records) == (first.broker_epoch, ())


def test_a_restarted_broker_gets_a_larger_epoch_and_leads_nothing_until_it_is_unfenced() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2], [2, 1])])
    outcome = office.decide(registration(incarnation=77))
    assert kinds(outcome.records) == ["PartitionChangeRecord", "PartitionChangeRecord", "RegisterBrokerRecord"]
    # Its epoch is the offset of its own record, behind the two changes.
    assert outcome.response.broker_epoch == 102
    partitions = office.image.topics.by_name["t"].partitions
    assert [(each.leader, each.isr) for each in partitions.values()] == [(2, (2,)), (2, (2,))]
    assert office.image.cluster.brokers[1].fenced


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (registration(cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (registration(directories=[uuid(1), uuid(1)]), ErrorCode.INVALID_REGISTRATION),
        (registration(directories=[ZERO_UUID]), ErrorCode.INVALID_REGISTRATION),
        (registration(features=[]), ErrorCode.UNSUPPORTED_VERSION),
        (
            registration(features=[Feature(name="metadata.version", min_supported_version=1, max_supported_version=29)]),
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (
            registration(features=[Feature(name="metadata.version", min_supported_version=31, max_supported_version=40)]),
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_registrations_that_are_refused_write_nothing(request_: BrokerRegistrationRequest, error: ErrorCode) -> None:
    office = Office()
    outcome = office.decide(request_)
    assert (outcome.response.error_code, outcome.response.broker_epoch, outcome.records) == (error, -1, ())


def test_a_controller_is_registered_with_its_endpoints() -> None:
    office = Office()
    request = ControllerRegistrationRequest(controller_id=3, incarnation_id=uuid(1), zk_migration_ready=False, listeners=[], features=[])
    assert office.ask(request).error_code == 0
    assert office.image.cluster.controllers[3].incarnation_id == uuid(1)


# -- staying alive ------------------------------------------------------------------------------------------------------------


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


def test_a_broker_that_is_unfenced_leads_what_waited_for_it() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    epoch = office.ask(registration(incarnation=77)).broker_epoch
    assert office.image.topics.by_name["t"].partitions[0].leader == -1
    office.decide(beat(epoch))
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.leader_epoch) == (1, 2)


def test_a_broker_that_wants_to_be_fenced_is() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2])])
    outcome = office.decide(beat(101, fence=True))
    assert outcome.response.is_fenced
    assert office.image.topics.by_name["t"].partitions[0].leader == 2
    assert office.decide(beat(101, fence=True)).records == []


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (beat(5, broker_id=9), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (beat(100), ErrorCode.STALE_BROKER_EPOCH),
        (beat(102), ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_heartbeats_of_strangers_and_zombies_are_refused(request_: BrokerHeartbeatRequest, error: ErrorCode) -> None:
    outcome = Office([registered(1)]).decide(request_)
    assert (outcome.response.error_code, outcome.records) == (error, ())
    assert not outcome.response.should_shut_down


# -- leaving ------------------------------------------------------------------------------------------------------------------


def test_a_broker_that_wants_to_stop_gives_up_what_it_leads_first() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2], [2, 1])])
    outcome = office.decide(beat(101, stop=True))
    assert kinds(outcome.records)[-1] == "BrokerRegistrationChangeRecord"
    assert outcome.response.should_shut_down
    assert {each.leader for each in office.image.topics.by_name["t"].partitions.values()} == {2}
    broker = office.image.cluster.brokers[1]
    assert (broker.in_controlled_shutdown, broker.active) == (True, False)


def test_asking_again_while_stopping_is_answered_alike_and_writes_nothing() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    office.decide(beat(101, stop=True))
    again = office.decide(beat(101, stop=True))
    assert (again.response.should_shut_down, again.records) == (True, [])


def test_a_fenced_broker_may_stop_at_once() -> None:
    outcome = Office([registered(1, fenced=True)]).decide(beat(101, stop=True, fence=True))
    assert (outcome.response.should_shut_down, outcome.records) == (True, [])


def test_a_partition_whose_only_replica_stops_has_no_leader_and_keeps_its_in_sync_replica() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    records: list[MetadataRecord] = list(office.decide(beat(101, stop=True)).records)
    assert isinstance(records[0], PartitionChangeRecord)
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr) == (-1, (1,))
