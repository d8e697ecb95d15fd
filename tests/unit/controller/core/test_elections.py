"""Leaders elected by hand and by themselves."""

from __future__ import annotations

import pytest

from barnabas.controller.core.elections import ELECTIONS_PER_TICK_MAX
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord, PartitionRecord, TopicRecord
from tests.unit.controller.core.deciding import Office
from tests.unit.controller.core.test_brokers import beat
from tests.unit.metadata.made import partition, registered, uuid

PREFERRED, UNCLEAN = 0, 1
BALANCE_MS, UNCLEAN_MS = 300_000, 300_000


def cluster(*partitions: PartitionRecord, fenced: tuple[int, ...] = (), unclean: bool = False) -> list[MetadataRecord]:
    allowed = [ConfigRecord(resource_type=2, resource_name="t", name="unclean.leader.election.enable", value="true")] if unclean else []
    return [
        *(registered(each, fenced=each in fenced) for each in (1, 2, 3)),
        TopicRecord(name="t", topic_id=uuid(1)),
        *partitions,
        *allowed,
    ]


def elect(kind: int, *indexes: int, topic: str = "t") -> ElectLeadersRequest:
    return ElectLeadersRequest(election_type=kind, topic_partitions=[TopicPartitions(topic=topic, partitions=list(indexes))])


def errors(office: Office, request: ElectLeadersRequest) -> dict[tuple[str, int], int]:
    response = office.ask(request)
    assert response.error_code == 0
    return {(each.topic, one.partition_id): one.error_code for each in response.replica_election_results for one in each.partition_result}


def leaders(office: Office) -> list[int]:
    return [each.leader for _, each in sorted(office.image.topics.by_name["t"].partitions.items())]


def outlive(office: Office, duration_ms: int, alive: tuple[int, ...] = (1, 2, 3)) -> list[MetadataRecord]:
    """Time passes, and some brokers send heartbeats."""
    written: list[MetadataRecord] = []
    end_ms = office.now_ms + duration_ms
    while office.now_ms < end_ms:
        for broker in alive:
            office.ask(beat(100 + broker, broker_id=broker, offset=-1))
        written += office.wait(min(5000, end_ms - office.now_ms))
    return written


# -- by hand ----------------------------------------------------------------------------------


def test_the_preferred_leader_is_elected_where_it_may_lead() -> None:
    office = Office(cluster(partition(1, 0, [1, 2], leader=2), partition(1, 1, [1, 2], isr=[2], leader=2), partition(1, 2, [2, 1])))
    assert errors(office, elect(PREFERRED, 0, 1, 2, 9)) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ("t", 2): ErrorCode.ELECTION_NOT_NEEDED,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert leaders(office) == [1, 2, 2]


def test_an_election_of_all_partitions_answers_only_those_that_needed_one() -> None:
    office = Office(cluster(partition(1, 0, [1, 2], leader=2), partition(1, 1, [1, 2], isr=[2], leader=2), partition(1, 2, [2, 1])))
    assert errors(office, ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None)) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    }


def test_an_unclean_leader_is_elected_by_hand_though_the_topic_does_not_allow_it_by_itself() -> None:
    office = Office(
        cluster(partition(1, 0, [1, 2], isr=[1], leader=NO_NODE), partition(1, 1, [2]), partition(1, 2, [1], leader=-1), fenced=(1,))
    )
    assert errors(office, elect(UNCLEAN, 0, 1, 2)) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.ELECTION_NOT_NEEDED,
        ("t", 2): ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    }
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.leader_recovery_state) == (2, (2,), 1)


def test_unknown_topics_and_unknown_election_types_are_refused() -> None:
    office = Office(cluster())
    assert errors(office, elect(PREFERRED, 0, topic="none")) == {("none", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert office.ask(elect(7, 0)).error_code == ErrorCode.INVALID_REQUEST


def test_a_partition_named_twice_is_elected_once() -> None:
    office = Office(cluster(partition(1, 0, [1, 2], leader=2)))
    outcome = office.decide(elect(PREFERRED, 0, 0))
    assert len(outcome.records) == 1
    codes = [each.error_code for each in outcome.response.replica_election_results[0].partition_result]
    assert codes == [ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED]


# -- by themselves ----------------------------------------------------------------------------


def test_leadership_goes_back_to_the_preferred_leader_at_every_imbalance_check() -> None:
    office = Office(cluster(partition(1, 0, [1, 2], leader=2), partition(1, 1, [3, 1], isr=[1], leader=1)))
    assert outlive(office, BALANCE_MS - 1) == []
    assert len(outlive(office, 1)) == 1
    assert leaders(office) == [1, 1]
    assert outlive(office, BALANCE_MS) == []


def test_leadership_stays_while_automatic_rebalancing_is_off() -> None:
    office = Office(cluster(partition(1, 0, [1, 2], leader=2)), file={"auto.leader.rebalance.enable": "false"})
    assert outlive(office, 2 * BALANCE_MS) == []


def test_many_elections_are_made_in_several_batches() -> None:
    count = ELECTIONS_PER_TICK_MAX + 1
    office = Office(cluster(*(partition(1, index, [1, 2], leader=2) for index in range(count))))
    outlive(office, BALANCE_MS)
    assert leaders(office).count(1) == ELECTIONS_PER_TICK_MAX
    assert office.controller.next_deadline_ms == office.now_ms
    assert len(office.wait(0)) == 1
    assert set(leaders(office)) == {1}


def test_a_lost_leader_is_replaced_uncleanly_at_once_where_the_topic_allows_it() -> None:
    office = Office(cluster(partition(1, 0, [1, 2], isr=[1]), unclean=True))
    office.ask(beat(101, fence=True))
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.leader_recovery_state) == (2, (2,), 1)


@pytest.mark.parametrize(("kind", "resource"), [(2, "t"), (4, "")])
def test_allowing_unclean_elections_later_elects_a_leader_at_once(kind: int, resource: str) -> None:
    office = Office(cluster(partition(1, 0, [1, 2], isr=[1])))
    office.ask(beat(101, fence=True))
    assert leaders(office) == [NO_NODE]
    config = AlterableConfig(name="unclean.leader.election.enable", config_operation=0, value="true")
    change = AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])
    assert office.ask(IncrementalAlterConfigsRequest(resources=[change], validate_only=False)).responses[0].error_code == 0
    assert office.controller.next_deadline_ms <= office.now_ms
    office.wait(0)
    assert leaders(office) == [2]


def test_an_election_for_a_leaderless_partition_is_tried_again() -> None:
    office = Office(cluster(partition(1, 0, [1, 2], isr=[1], leader=NO_NODE), fenced=(1,), unclean=True))
    assert leaders(office) == [NO_NODE]
    outlive(office, UNCLEAN_MS, alive=(2, 3))
    assert leaders(office) == [2]
