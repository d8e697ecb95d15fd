"""CreateTopics, DeleteTopics and CreatePartitions: the records they write, and every refusal."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.controller.core.topics import PARTITIONS_PER_REQUEST_MAX
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC, NO_NODE, ZERO_UUID, Uuid
from barnabas.wire.messages.create_partitions import CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.metadata_records import BrokerRegistrationChangeRecord, TopicRecord
from tests.unit.controller.core.deciding import Office
from tests.unit.metadata.made import partition, registered, topic, uuid

BROKERS = [registered(1), registered(2), registered(3)]


def wanted(
    name: str = "t",
    partitions: int = -1,
    factor: int = -1,
    *,
    by_hand: list[tuple[int, list[int]]] | None = None,
    configs: dict[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=brokers) for index, brokers in by_hand or []],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )


def create(*topics: CreatableTopic, dry: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), validate_only=dry)


def error_of(office: Office, *topics: CreatableTopic) -> ErrorCode:
    """The error of a request that is refused and writes nothing."""
    outcome = office.decide(create(*topics))
    assert outcome.records in ((), [])
    answers = {each.error_code for each in outcome.response.topics}
    assert all(each.error_message for each in outcome.response.topics)
    (code,) = answers
    return ErrorCode(code)


# -- creating ---------------------------------------------------------------------------------


def test_a_topic_is_made_with_its_partitions_and_settings() -> None:
    office = Office(BROKERS)
    (made,) = office.ask(create(wanted("t", 4, 2, configs={"retention.ms": "5"}))).topics
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 4, 2)
    image = office.image.topics.by_name["t"]
    assert image.topic_id == made.topic_id != ZERO_UUID
    assert sorted(image.partitions) == [0, 1, 2, 3]
    for new in image.partitions.values():
        assert new.isr == new.replicas
        assert (new.leader, new.leader_epoch, new.partition_epoch) == (new.replicas[0], 0, 0)
    assert office.image.configs.of(2, "t") == {"retention.ms": "5"}  # type: ignore[arg-type]
    told = {each.name: (each.value, each.config_source) for each in made.configs}
    assert told["retention.ms"] == ("5", 1)


def test_missing_counts_are_the_defaults_of_the_broker() -> None:
    office = Office(BROKERS, file={"num.partitions": "5", "default.replication.factor": "3"})
    (made,) = office.ask(create(wanted())).topics
    assert (made.num_partitions, made.replication_factor) == (5, 3)


def test_each_topic_has_its_own_outcome() -> None:
    office = Office([*BROKERS, *topic(1, "old", [1])])
    answers = office.ask(create(wanted("new", 1), wanted("old", 1), wanted("a/b", 1), wanted("also-new", 1))).topics
    assert {each.name: each.error_code for each in answers} == {
        "new": 0,
        "old": ErrorCode.TOPIC_ALREADY_EXISTS,
        "a/b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "also-new": 0,
    }
    assert set(office.image.topics.by_name) == {"new", "old", "also-new"}


def test_validate_only_creates_nothing() -> None:
    office = Office(BROKERS)
    outcome = office.decide(create(wanted("t", 2, 1), dry=True))
    assert outcome.response.topics[0].error_code == 0
    assert outcome.records == []
    assert office.image.topics.by_name == {}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "x" * 250, "a b"])
def test_illegal_names(name: str) -> None:
    assert error_of(Office(BROKERS), wanted(name, 1)) == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize(("existing", "name"), [("a.b", "a_b"), ("a_b", "a.b"), ("a.b_c", "a_b.c")])
def test_names_that_collide_in_metrics_are_refused(existing: str, name: str) -> None:
    assert error_of(Office([*BROKERS, *topic(1, existing, [1])]), wanted(name, 1)) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_two_new_names_that_metrics_could_not_tell_apart() -> None:
    office = Office(BROKERS)
    answers = office.ask(create(wanted("a.b", 1), wanted("a_b", 1))).topics
    assert [each.error_code for each in answers] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_the_name_of_the_metadata_log() -> None:
    assert error_of(Office(BROKERS), wanted(METADATA_TOPIC, 1)) == ErrorCode.INVALID_REQUEST


def test_a_topic_named_twice_is_refused_once() -> None:
    office = Office(BROKERS)
    (answer,) = office.ask(create(wanted("t", 1), wanted("t", 2))).topics
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("partitions", [0, -2, -(2**31)])
def test_a_topic_without_partitions_is_refused(partitions: int) -> None:
    assert error_of(Office(BROKERS), wanted("t", partitions, 1)) == ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("factor", [0, -2, 4, 32767])
def test_impossible_replication_factors_are_refused(factor: int) -> None:
    assert error_of(Office(BROKERS), wanted("t", 1, factor)) == ErrorCode.INVALID_REPLICATION_FACTOR


def test_more_partitions_than_one_request_may_make() -> None:
    office = Office(BROKERS)
    assert error_of(office, wanted("t", PARTITIONS_PER_REQUEST_MAX + 1, 1)) == ErrorCode.POLICY_VIOLATION
    half = PARTITIONS_PER_REQUEST_MAX // 2 + 1
    assert error_of(office, wanted("t", half, 1), wanted("u", half, 1)) == ErrorCode.POLICY_VIOLATION
    assert error_of(office, wanted("t", 2**31 - 1, 1)) == ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize(
    "configs",
    [{"retention.ms": "soon"}, {"no.such.setting": "1"}, {"retention.ms": None}, {"cleanup.policy": "burn"}, {"min.insync.replicas": "0"}],
)
def test_settings_that_are_wrong(configs: dict[str, str | None]) -> None:
    assert error_of(Office(BROKERS), wanted("t", 1, 1, configs=configs)) == ErrorCode.INVALID_CONFIG


def test_topics_are_refused_without_a_usable_broker() -> None:
    assert error_of(Office([]), wanted("t", 1, 1)) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert error_of(Office([registered(1, fenced=True)]), wanted("t", 1, 1)) == ErrorCode.INVALID_REPLICATION_FACTOR


# -- by hand ----------------------------------------------------------------------------------


def test_replicas_as_they_were_asked_for() -> None:
    office = Office(BROKERS)
    (made,) = office.ask(create(wanted(by_hand=[(1, [3, 1]), (0, [2, 3])]))).topics
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 2, 2)
    partitions = office.image.topics.by_name["t"].partitions
    assert [partitions[index].replicas for index in range(2)] == [(2, 3), (3, 1)]


def test_fenced_brokers_may_be_asked_for_but_are_not_in_sync() -> None:
    office = Office([registered(1, fenced=True), registered(2)])
    office.ask(create(wanted(by_hand=[(0, [1, 2])])))
    partition = office.image.topics.by_name["t"].partitions[0]
    assert (partition.replicas, partition.isr, partition.leader) == ((1, 2), (2,), 2)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (wanted("t", 1, -1, by_hand=[(0, [1])]), ErrorCode.INVALID_REQUEST),
        (wanted("t", -1, 1, by_hand=[(0, [1])]), ErrorCode.INVALID_REQUEST),
        (wanted(by_hand=[(1, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(by_hand=[(0, [1]), (0, [2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(by_hand=[(0, [1]), (2, [2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(by_hand=[(0, [])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(by_hand=[(0, [1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(by_hand=[(0, [9])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(by_hand=[(0, [1]), (1, [1, 2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_assignments_by_hand_that_are_wrong(given: CreatableTopic, error: ErrorCode) -> None:
    assert error_of(Office(BROKERS), given) == error


def test_a_broker_with_one_directory_needs_no_choosing() -> None:
    office = Office([registered(1, directories=1), registered(2, directories=2)])
    office.ask(create(wanted(by_hand=[(0, [1, 2])])))
    assert office.image.topics.by_name["t"].partitions[0].directories == (uuid(10), ZERO_UUID)


# -- deleting ---------------------------------------------------------------------------------


def delete(*names: str | None, ids: tuple[Uuid, ...] = (), old: tuple[str, ...] = ()) -> DeleteTopicsRequest:
    states = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in names] + [
        DeleteTopicState(name=None, topic_id=each) for each in ids
    ]
    return DeleteTopicsRequest(topics=states, topic_names=list(old), timeout_ms=0)


def codes(response: Any) -> list[int]:
    return [each.error_code for each in response.responses]


def test_topics_go_by_name_by_id_and_the_old_way() -> None:
    office = Office([*BROKERS, *topic(1, "a", [1]), *topic(2, "b", [1]), *topic(3, "c", [1]), *topic(4, "kept", [1])])
    assert codes(office.ask(delete("a", ids=(uuid(2),)))) == [0, 0]
    answer = office.ask(delete(old=("c",)))
    assert codes(answer) == [0]
    assert (answer.responses[0].name, answer.responses[0].topic_id) == ("c", uuid(3))
    assert set(office.image.topics.by_name) == {"kept"}


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (delete("missing"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (delete(ids=(uuid(9),)), ErrorCode.UNKNOWN_TOPIC_ID),
        (delete(None), ErrorCode.INVALID_REQUEST),
        (DeleteTopicsRequest(topics=[DeleteTopicState(name="a", topic_id=uuid(1))], timeout_ms=0), ErrorCode.INVALID_REQUEST),
        (delete("a", "a"), ErrorCode.INVALID_REQUEST),
        (delete(ids=(uuid(1), uuid(1))), ErrorCode.INVALID_REQUEST),
    ],
)
def test_unknown_and_ambiguous_topics_cannot_be_deleted(request_: DeleteTopicsRequest, error: ErrorCode) -> None:
    office = Office([*BROKERS, *topic(1, "a", [1])])
    outcome = office.decide(request_)
    assert set(codes(outcome.response)) == {error}
    assert outcome.records == []
    assert set(office.image.topics.by_name) == {"a"}


def test_a_topic_named_by_name_and_by_id_goes_at_most_once() -> None:
    office = Office([*BROKERS, *topic(1, "a", [1])])
    outcome = office.decide(delete("a", ids=(uuid(1),)))
    assert len(outcome.records) <= 1
    assert ErrorCode.INVALID_REQUEST in codes(outcome.response)


def test_deleting_may_be_forbidden() -> None:
    office = Office([*BROKERS, *topic(1, "a", [1])], file={"delete.topic.enable": "false"})
    assert codes(office.ask(delete("a"))) == [ErrorCode.TOPIC_DELETION_DISABLED]


# -- CreatePartitions -------------------------------------------------------------------------


def grow(count: int, *, name: str = "a", by_hand: list[list[int]] | None = None, dry: bool = False) -> CreatePartitionsRequest:
    assignments = None if by_hand is None else [CreatePartitionsAssignment(broker_ids=each) for each in by_hand]
    return CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=assignments)], timeout_ms=0, validate_only=dry
    )


def grown() -> Office:
    return Office([*BROKERS, *topic(1, "a", [1, 2], [2, 1])])


def test_new_partitions_have_as_many_replicas_as_the_old_ones_and_leave_those_alone() -> None:
    office = grown()
    before = dict(office.image.topics.by_name["a"].partitions)
    assert office.ask(grow(5)).results[0].error_code == 0
    now = office.image.topics.by_name["a"].partitions
    assert sorted(now) == [0, 1, 2, 3, 4]
    assert {len(each.replicas) for each in now.values()} == {2}
    assert [now[index] for index in (0, 1)] == [before[0], before[1]]


def test_new_partitions_as_they_were_asked_for() -> None:
    office = grown()
    office.ask(grow(4, by_hand=[[3, 1], [1, 3]]))
    now = office.image.topics.by_name["a"].partitions
    assert [now[index].replicas for index in (2, 3)] == [(3, 1), (1, 3)]


def test_validate_only_adds_no_partitions() -> None:
    office = grown()
    assert office.decide(grow(5, dry=True)).records == []
    assert len(office.image.topics.by_name["a"].partitions) == 2


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (grow(2), ErrorCode.INVALID_PARTITIONS),
        (grow(1), ErrorCode.INVALID_PARTITIONS),
        (grow(-1), ErrorCode.INVALID_PARTITIONS),
        (grow(PARTITIONS_PER_REQUEST_MAX + 3), ErrorCode.POLICY_VIOLATION),
        (grow(3, name="missing"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (grow(4, by_hand=[[1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (grow(3, by_hand=[[1, 2], [2, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (grow(3, by_hand=[[1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (grow(3, by_hand=[[1, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (grow(3, by_hand=[[1, 9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (grow(3, by_hand=[[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_growth_that_is_refused(request_: CreatePartitionsRequest, error: ErrorCode) -> None:
    outcome = grown().decide(request_)
    assert ([each.error_code for each in outcome.response.results], outcome.records) == ([error], [])


def test_a_topic_that_is_to_grow_twice() -> None:
    request = grow(3)
    request.topics = [*request.topics, *request.topics]
    outcome = grown().decide(request)
    assert ({each.error_code for each in outcome.response.results}, outcome.records) == ({ErrorCode.INVALID_REQUEST}, [])


def test_every_partition_with_live_replicas_has_a_leader() -> None:
    office = grown()
    assert NO_NODE not in {each.leader for each in office.image.topics.by_name["a"].partitions.values()}


# -- placement of replicas --------------------------------------------------------------------


def change(broker_id: int, **changes: Any) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=100 + broker_id, **changes)


def replicas_of(desk: Office, name: str) -> set[int]:
    return {replica for each in desk.image.topics.by_name[name].partitions.values() for replica in each.replicas}


@pytest.mark.parametrize("why", [{"in_controlled_shutdown": 1}, {"cordoned_log_dirs": [uuid(20)]}])
def test_brokers_that_stop_or_are_cordoned_get_no_new_replicas(why: dict[str, Any]) -> None:
    desk = Office([registered(1), registered(2), registered(3), change(2, **why)])
    assert desk.ask(create(wanted("a", 9, 2))).topics[0].error_code == 0
    assert replicas_of(desk, "a") == {1, 3}
    assert error_of(desk, wanted("b", 1, 3)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_one_cordoned_directory_of_two_is_no_reason() -> None:
    desk = Office([registered(1, directories=2), change(1, cordoned_log_dirs=[uuid(10)])])
    assert desk.ask(create(wanted("a", 1, 1))).topics[0].error_code == 0


def test_fenced_brokers_get_replicas_that_no_other_broker_can_take_and_do_not_lead() -> None:
    desk = Office([registered(1), registered(2), registered(3, fenced=True)])
    assert desk.ask(create(wanted("a", 4, 3))).topics[0].error_code == 0
    for each in desk.image.topics.by_name["a"].partitions.values():
        assert (set(each.isr), each.replicas[-1], each.leader in (1, 2)) == ({1, 2}, 3, True)


def test_a_topic_that_grows_while_its_replicas_move_gets_as_many_as_it_will_have() -> None:
    moving = partition(1, 0, [1, 2, 3], isr=[1, 2])
    moving.adding_replicas, moving.removing_replicas = [3], [2]
    desk = Office([registered(1), registered(2), registered(3), TopicRecord(name="a", topic_id=uuid(1)), moving])
    assert desk.ask(grow(2)).results[0].error_code == 0
    assert len(desk.image.topics.by_name["a"].partitions[1].replicas) == 2
