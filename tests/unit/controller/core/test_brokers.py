"""Registration of brokers: epochs, refusals, and the partitions of a restarted broker."""

from __future__ import annotations

import pytest

from barnabas.controller.core.features import SUPPORTED_FEATURES
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord, RegisterBrokerRecord, TopicRecord
from tests.unit.controller.core.deciding import CLUSTER_ID, Office
from tests.unit.metadata.made import after, partition, registered, topic, uuid

SESSION_MS = 9000
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
    previous_epoch: int = -1,
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=uuid(incarnation),
        listeners=[Listener(name="PLAINTEXT", host="h", port=9, security_protocol=0)],
        features=OFFERED if features is None else features,
        rack="r",
        log_dirs=[uuid(50)] if directories is None else directories,
        previous_broker_epoch=previous_epoch,
    )


def beat(epoch: int, *, broker_id: int = 1, offset: int = 10**6, fence: bool = False, stop: bool = False) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(
        broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=offset, want_fence=fence, want_shut_down=stop
    )


def kinds(records: object) -> list[str]:
    assert isinstance(records, list)
    return [type(record).__name__ for record in records]


# -- registering ------------------------------------------------------------------------------


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
    assert (again.response.broker_epoch, again.records) == (first.broker_epoch, [])


def test_the_same_process_may_add_something_and_keeps_its_epoch() -> None:
    office = Office()
    first = office.ask(registration())
    office.ask(beat(first.broker_epoch))
    again = office.decide(registration(directories=[uuid(50), uuid(51)]))
    assert (again.response.broker_epoch, kinds(again.records)) == (first.broker_epoch, ["RegisterBrokerRecord"])
    assert office.image.cluster.brokers[1].active


def test_the_same_process_may_come_with_fewer_directories_and_loses_the_leaderships_in_the_others() -> None:
    office = Office([registered(2)])
    epoch = office.ask(registration(directories=[uuid(50), uuid(51)])).broker_epoch
    office.ask(beat(epoch))
    office.controller.activate(
        after([topic(1, "t")[0], partition(1, 0, [1, 2], directories=[uuid(51), uuid(20)])], office.image),
        [],
        next_offset=office.next_offset,
        now_ms=office.now_ms,
    )
    assert office.ask(registration(directories=[uuid(50)])).broker_epoch == epoch
    assert office.image.topics.by_name["t"].partitions[0].leader == 2


def test_a_restarted_broker_gets_a_larger_epoch_and_leads_nothing_until_it_is_unfenced() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2], [2, 1])])
    outcome = office.decide(registration(incarnation=77, directories=[uuid(10)]))
    assert kinds(outcome.records) == ["PartitionChangeRecord", "PartitionChangeRecord", "RegisterBrokerRecord"]
    # Its epoch is the offset of its own record, behind the two changes.
    assert outcome.response.broker_epoch == 102
    partitions = office.image.topics.by_name["t"].partitions
    assert [(each.leader, each.isr) for each in partitions.values()] == [(2, (2,)), (2, (2,))]
    assert office.image.cluster.brokers[1].fenced


# -- one id, one process ----------------------------------------------------------------------


def test_the_id_of_a_live_broker_is_refused_to_another_incarnation() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    office.wait(SESSION_MS)
    refused = office.decide(registration(incarnation=77))
    assert (refused.response.error_code, refused.records) == (ErrorCode.DUPLICATE_BROKER_REGISTRATION, ())


def test_another_machine_takes_over_the_id_of_a_lost_broker_after_its_session() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2])])
    office.wait(1)
    office.ask(beat(102, broker_id=2))
    office.wait(SESSION_MS)
    taken = office.ask(registration(incarnation=77))
    assert (taken.error_code, taken.broker_epoch > 101) == (0, True)
    assert office.ask(beat(101)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_process_that_holds_the_directories_of_the_one_before_need_not_wait() -> None:
    """The directories are locked, so the process before it is gone."""
    office = Office([registered(1, directories=2), *topic(1, "t", [1])])
    office.ask(beat(101))
    assert office.ask(registration(incarnation=77, directories=[uuid(11), uuid(99)])).error_code == 0


def test_after_a_clean_stop_the_next_process_need_not_wait() -> None:
    office = Office([registered(1)])
    assert office.ask(beat(101, stop=True)).should_shut_down
    assert office.ask(registration(incarnation=77)).error_code == 0


def test_a_registration_without_heartbeats_can_be_replaced() -> None:
    office = Office()
    office.ask(registration(incarnation=1))
    assert office.ask(registration(incarnation=2)).error_code == 0


# -- clean or not -----------------------------------------------------------------------------


def two_of_three_required(*, isr: list[int]) -> list[MetadataRecord]:
    minimum = ConfigRecord(resource_type=2, resource_name="t", name="min.insync.replicas", value="2")
    return [
        *(registered(each) for each in (1, 2, 3)),
        TopicRecord(name="t", topic_id=uuid(1)),
        partition(1, 0, [1, 2, 3], isr=isr),
        minimum,
    ]


def test_after_a_clean_stop_a_replica_that_was_in_sync_stays_eligible() -> None:
    office = Office(two_of_three_required(isr=[1, 2]))
    request = registration(broker_id=2, incarnation=77, directories=[uuid(20)], previous_epoch=102)
    assert office.ask(request).error_code == 0
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.eligible_leader_replicas) == (1, (1,), (2,))


@pytest.mark.parametrize("previous_epoch", [-1, 101, 103])
def test_after_an_unclean_restart_a_replica_may_have_lost_its_tail_and_is_not_eligible(previous_epoch: int) -> None:
    office = Office(two_of_three_required(isr=[1, 2]))
    office.ask(registration(broker_id=2, incarnation=77, directories=[uuid(20)], previous_epoch=previous_epoch))
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.eligible_leader_replicas) == (1, (1,), ())


def test_an_unclean_restart_also_ends_earlier_eligibility() -> None:
    office = Office([*two_of_three_required(isr=[1, 2])])
    office.decide(beat(102, broker_id=2, fence=True))
    before = office.image.topics.by_name["t"].partitions[0]
    office.ask(registration(broker_id=2, incarnation=77, directories=[uuid(20)]))
    after = office.image.topics.by_name["t"].partitions[0]
    assert (before.eligible_leader_replicas, after.eligible_leader_replicas) == ((2,), ())


def test_the_only_replica_leads_again_after_an_unclean_restart_and_is_known_to_be_recovering() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    epoch = office.ask(registration(incarnation=77, directories=[uuid(10)])).broker_epoch
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.eligible_leader_replicas, state.last_known_elr) == (-1, (), (), (1,))
    office.ask(beat(epoch))
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.last_known_elr, state.leader_recovery_state) == (1, (1,), (), 1)


def test_the_only_replica_leads_again_after_a_clean_stop_without_recovery() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    office.ask(beat(101, stop=True))
    office.ask(beat(101, stop=True))
    epoch = office.ask(registration(incarnation=77, directories=[uuid(10)], previous_epoch=101)).broker_epoch
    office.ask(beat(epoch))
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.eligible_leader_replicas, state.leader_recovery_state) == (1, (1,), (), 0)


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (registration(cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (registration(directories=[uuid(1), uuid(1)]), ErrorCode.INVALID_REGISTRATION),
        (registration(directories=[ZERO_UUID]), ErrorCode.INVALID_REGISTRATION),
        (registration(directories=[]), ErrorCode.INVALID_REGISTRATION),
        (registration(directories=[Uuid(bytes(15) + b"\x02")]), ErrorCode.INVALID_REGISTRATION),
        (registration(broker_id=-1), ErrorCode.INVALID_REGISTRATION),
        (registration(features=[]), ErrorCode.INVALID_REGISTRATION),
        (registration(features=OFFERED[:1]), ErrorCode.UNSUPPORTED_VERSION),
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


def test_a_directory_belongs_to_one_broker() -> None:
    office = Office([registered(2)])
    assert office.ask(registration(directories=[uuid(20)])).error_code == ErrorCode.INVALID_REGISTRATION


def test_a_broker_may_support_features_that_this_controller_does_not_know() -> None:
    strange = Feature(name="future.version", min_supported_version=1, max_supported_version=1)
    assert Office().ask(registration(features=[*OFFERED, strange])).error_code == 0


def test_a_controller_is_registered_with_its_endpoints() -> None:
    office = Office()
    request = ControllerRegistrationRequest(controller_id=3, incarnation_id=uuid(1), zk_migration_ready=False, listeners=[], features=[])
    assert office.ask(request).error_code == 0
    assert office.image.cluster.controllers[3].incarnation_id == uuid(1)


# -- unregistering ----------------------------------------------------------------------------


def test_a_broker_that_is_unregistered_is_forgotten_and_in_sync_with_nothing() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2], [2])])
    outcome = office.decide(UnregisterBrokerRequest(broker_id=2))
    assert (outcome.response.error_code, kinds(outcome.records)[-1]) == (0, "UnregisterBrokerRecord")
    states = office.image.topics.by_name["t"].partitions
    assert [(each.leader, each.isr, each.eligible_leader_replicas) for each in states.values()] == [(1, (1,), ()), (-1, (), ())]
    assert 2 not in office.image.cluster.brokers
    assert office.ask(beat(102, broker_id=2)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_an_unknown_broker_cannot_be_unregistered() -> None:
    outcome = Office().decide(UnregisterBrokerRequest(broker_id=9))
    assert (outcome.response.error_code, outcome.records) == (ErrorCode.BROKER_ID_NOT_REGISTERED, ())
    assert outcome.response.error_message == "Broker ID 9 is not currently registered"
