"""AlterPartition: a leader reports its ISR, and the controller checks the epochs."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from barnabas.wire.metadata_records import FenceBrokerRecord, MetadataRecord, PartitionChangeRecord, PartitionRecord
from tests.unit.controller.core.deciding import Office
from tests.unit.controller.core.test_brokers import beat
from tests.unit.metadata.made import partition, registered, topic, uuid


def cluster(*records: MetadataRecord) -> list[MetadataRecord]:
    return [*(registered(each) for each in (1, 2, 3, 4)), topic(1, "t")[0], *(records or [partition(1, 0, [1, 2, 3], isr=[1])])]


def report(
    isr: list[int],
    *,
    broker: int = 1,
    broker_epoch: int | None = None,
    index: int = 0,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    topic_number: int = 1,
    recovery: int = 0,
    epochs: dict[int, int] | None = None,
) -> AlterPartitionRequest:
    seen = {each: 100 + each for each in isr} | (epochs or {})
    data = PartitionData(
        partition_index=index,
        leader_epoch=leader_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=each, broker_epoch=seen[each]) for each in isr],
        leader_recovery_state=recovery,
        partition_epoch=partition_epoch,
    )
    topics = [TopicData(topic_id=uuid(topic_number), partitions=[data])]
    return AlterPartitionRequest(broker_id=broker, broker_epoch=100 + broker if broker_epoch is None else broker_epoch, topics=topics)


def only(response: Any) -> Any:
    assert response.error_code == 0
    return response.topics[0].partitions[0]


def test_the_isr_grows_and_the_answer_has_the_new_one() -> None:
    office = Office(cluster())
    answer = only(office.ask(report([1, 3])))
    assert (answer.error_code, answer.leader_id, answer.isr, answer.leader_epoch, answer.partition_epoch) == (0, 1, [1, 3], 0, 1)
    assert office.image.topics.by_name["t"].partitions[0].isr == (1, 3)


def test_the_set_shrinks_without_a_new_leader_epoch() -> None:
    office = Office(cluster(partition(1, 0, [1, 2, 3])))
    answer = only(office.ask(report([1])))
    assert (answer.isr, answer.leader_epoch, answer.partition_epoch) == ([1], 0, 1)


def test_an_isr_that_is_committed_already_is_answered_without_a_record() -> None:
    outcome = Office(cluster()).decide(report([1]))
    assert (only(outcome.response).partition_epoch, outcome.records) == (0, [])


def test_a_report_without_topics_is_answered_with_any_broker_epoch() -> None:
    nothing = AlterPartitionRequest(broker_id=1, broker_epoch=7, topics=[])
    response = Office(cluster()).decide(nothing).response
    assert (response.error_code, response.topics) == (ErrorCode.NONE, [])


def test_brokers_before_version_3_do_not_say_which_epochs_they_saw() -> None:
    office = Office(cluster())
    request = report([])
    request.topics[0].partitions[0].new_isr = [1, 2]
    assert only(office.ask(request)).isr == [1, 2]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (report([1, 2], topic_number=9), ErrorCode.UNKNOWN_TOPIC_ID),
        (report([1, 2], index=5), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (report([1, 2], leader_epoch=1), ErrorCode.NOT_CONTROLLER),
        (report([1, 2], partition_epoch=1), ErrorCode.NOT_CONTROLLER),
        (report([1, 2], leader_epoch=-1), ErrorCode.FENCED_LEADER_EPOCH),
        (report([1, 2], partition_epoch=-1), ErrorCode.INVALID_UPDATE_VERSION),
        (report([1, 2], broker=2), ErrorCode.INVALID_REQUEST),
        (report([2, 3]), ErrorCode.INVALID_REQUEST),
        (report([]), ErrorCode.INVALID_REQUEST),
        (report([1, 1]), ErrorCode.INVALID_REQUEST),
        (report([1, 4]), ErrorCode.INVALID_REQUEST),
        (report([1], recovery=1), ErrorCode.INVALID_REQUEST),
        (report([1, 2], recovery=1), ErrorCode.INVALID_REQUEST),
        (report([1], recovery=5), ErrorCode.INVALID_REQUEST),
        (report([1, 2], epochs={2: 99}), ErrorCode.INELIGIBLE_REPLICA),
        (report([1, 2], epochs={2: 103}), ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_reports_that_are_refused(request_: AlterPartitionRequest, error: ErrorCode) -> None:
    outcome = Office(cluster()).decide(request_)
    assert (only(outcome.response).error_code, outcome.records) == (error, [])


@pytest.mark.parametrize(("broker", "epoch"), [(1, 100), (9, 109)])
def test_reports_of_zombies_and_strangers_are_refused(broker: int, epoch: int) -> None:
    outcome = Office(cluster()).decide(report([1, 2], broker=broker, broker_epoch=epoch))
    assert (outcome.response.error_code, outcome.records) == (ErrorCode.STALE_BROKER_EPOCH, ())


def test_a_fenced_stopping_or_unregistered_broker_cannot_join_the_isr() -> None:
    office = Office(cluster(partition(1, 0, [1, 2, 3, 5], isr=[1]), partition(1, 1, [3]), FenceBrokerRecord(id=2, epoch=102)))
    office.ask(beat(103, broker_id=3, stop=True))
    for replica in (2, 3, 5):
        assert only(office.ask(report([1, replica]))).error_code == ErrorCode.INELIGIBLE_REPLICA


def test_an_unknown_broker_epoch_is_not_checked() -> None:
    assert only(Office(cluster()).ask(report([1, 2], epochs={2: -1}))).error_code == 0


def test_a_partition_named_twice_is_changed_once() -> None:
    office = Office(cluster())
    request = report([1, 2])
    request.topics[0].partitions *= 2
    first, second = office.ask(request).topics[0].partitions
    assert (first.error_code, second.error_code) == (0, ErrorCode.INVALID_UPDATE_VERSION)


def test_a_recovered_leader_ends_the_recovery_state() -> None:
    recovering = PartitionChangeRecord(partition_id=0, topic_id=uuid(1), leader_recovery_state=1)
    office = Office(cluster(partition(1, 0, [1, 2, 3], isr=[1]), recovering))
    assert only(office.ask(report([1, 2], partition_epoch=1, recovery=1))).error_code == ErrorCode.INVALID_REQUEST
    assert only(office.ask(report([1], partition_epoch=1))).leader_recovery_state == 0


# -- reassignments ----------------------------------------------------------------------------


def moving(replicas: list[int], *, adding: list[int], removing: list[int], leader: int) -> PartitionRecord:
    record = partition(1, 0, replicas, isr=[each for each in replicas if each not in adding], leader=leader)
    record.adding_replicas, record.removing_replicas = adding, removing
    return record


def test_a_report_completes_a_reassignment() -> None:
    office = Office(cluster(moving([1, 2, 4, 3], adding=[4], removing=[3], leader=1)))
    answer = only(office.ask(report([1, 2, 3, 4])))
    assert (answer.error_code, answer.isr, answer.leader_epoch) == (0, [1, 2, 4], 1)
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.replicas, state.adding_replicas, state.removing_replicas) == ((1, 2, 4), (), ())


def test_a_leader_that_completes_its_own_removal_is_answered_new_leader_elected() -> None:
    office = Office(cluster(moving([4, 2, 3, 1], adding=[4], removing=[1], leader=1)))
    outcome = office.decide(report([1, 2, 3, 4]))
    assert only(outcome.response).error_code == ErrorCode.NEW_LEADER_ELECTED
    assert len(outcome.records) == 1
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.replicas, state.isr) == (4, (4, 2, 3), (2, 3, 4))
