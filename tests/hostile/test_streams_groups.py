"""Hostile streams groups: huge topologies, long lists of tasks, extreme names and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.coordinators.group.streams.topology import COPARTITION_GROUPS_MAX, SUBTOPOLOGIES_MAX, TOPICS_MAX
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.wire.messages.streams_group_heartbeat import Topology
from tests.hostile.conftest import Victim
from tests.hostile.test_groups import IDS, LONG, await_coordinator
from tests.hostile.test_resources import BYSTANDER_SECONDS_MAX, Bystander
from tests.streams_heartbeats import beat, internal, joining, subtopology, topology

GROUP = "hostile-streams"


@pytest.fixture(autouse=True)
def coordinator(victim: Victim) -> None:
    with victim.client() as client:
        await_coordinator(client)


def chain(length: int) -> Topology:
    """Each subtopology waits for the next one, which is the slowest order to resolve."""
    links = [f"r{number}" for number in range(length)]
    middle = [subtopology(f"{number}", repartitions=[internal(links[number])], sinks=[links[number - 1]]) for number in range(1, length)]
    return topology(subtopology("first", repartitions=[internal(links[0])]), *middle, subtopology("last", "t", sinks=[links[-1]]))


TOPOLOGIES: dict[str, tuple[Topology, int]] = {
    "as many subtopologies as allowed, in a chain": (chain(SUBTOPOLOGIES_MAX - 1), ErrorCode.NONE),
    "more subtopologies than allowed": (chain(SUBTOPOLOGIES_MAX), ErrorCode.STREAMS_INVALID_TOPOLOGY),
    "as many topics as allowed": (topology(subtopology("0", *(["t"] * TOPICS_MAX))), ErrorCode.NONE),
    "more topics than allowed": (topology(subtopology("0", *(["t"] * (TOPICS_MAX + 1)))), ErrorCode.STREAMS_INVALID_TOPOLOGY),
    "as many copartition groups as allowed": (
        topology(subtopology("0", "t", copartitioned=[([0], [])] * COPARTITION_GROUPS_MAX)),
        ErrorCode.NONE,
    ),
    "a copartition group with many repetitions": (topology(subtopology("0", "t", copartitioned=[([0] * 100_000, [])])), ErrorCode.NONE),
    "long names": (topology(subtopology(LONG, "t")), ErrorCode.NONE),
    "no subtopology": (topology(), ErrorCode.NONE),
    "an epoch of all bits": (topology(subtopology("0", "t"), epoch=2**31 - 1), ErrorCode.NONE),
    "a count of all bits": (
        topology(subtopology("0", "t", sinks=["r"]), subtopology("1", repartitions=[internal("r", 2**31 - 1)])),
        ErrorCode.STREAMS_INVALID_TOPOLOGY,
    ),
}


@pytest.mark.parametrize("what", TOPOLOGIES)
def test_a_huge_topology_neither_stops_the_broker_nor_delays_others(victim: Victim, what: str) -> None:
    sent, expected = TOPOLOGIES[what]
    with victim.client() as client, Bystander(victim) as bystander:
        answer = client.ask(joining(GROUP, "m", sent))
        assert answer.error_code == expected, answer.error_message
        client.ask(StreamsGroupDescribeRequest(group_ids=[GROUP], include_authorized_operations=True))
        client.ask(beat(GROUP, "m", -1))
        client.ask(DeleteGroupsRequest(groups_names=[GROUP]))
    assert bystander.worst < BYSTANDER_SECONDS_MAX


def test_a_topology_that_does_not_fit_into_a_batch_is_refused(victim: Victim) -> None:
    configs: dict[str, Any] = {f"key{number}": LONG for number in range(60)}
    with victim.client() as client:
        answer = client.ask(joining(GROUP, "m", topology(subtopology("0", "t", changelogs=[internal("log", **configs)]))))
        assert answer.error_code != ErrorCode.NONE
        (described,) = client.ask(StreamsGroupDescribeRequest(group_ids=[GROUP], include_authorized_operations=False)).groups
        assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND


LISTS: dict[str, dict[str, list[int]]] = {
    "many partitions": {"0": list(range(200_000))},
    "one partition often": {"0": [0] * 200_000},
    "a negative partition": {"0": [-1]},
    "a partition of all bits": {"0": [2**31 - 1]},
    "a long name": {LONG: [0]},
    "many subtopologies": {str(number): [0] for number in range(50_000)},
}


@pytest.mark.parametrize("what", LISTS)
def test_lists_of_tasks_that_no_member_can_have_are_refused(victim: Victim, what: str) -> None:
    tasks = LISTS[what]
    with victim.client() as client, Bystander(victim) as bystander:
        joined = client.ask(joining(GROUP, "m", topology(subtopology("0", "t"))))
        assert joined.error_code == ErrorCode.NONE, joined.error_message
        answer = client.ask(beat(GROUP, "m", joined.member_epoch, active=tasks))
        expected = ErrorCode.NONE if set(tasks) == {"0"} and set(tasks["0"]) == {0} else ErrorCode.INVALID_REQUEST
        assert answer.error_code == expected
        assert client.ask(beat(GROUP, "m", -1)).error_code == ErrorCode.NONE
        client.ask(DeleteGroupsRequest(groups_names=[GROUP]))
    assert bystander.worst < BYSTANDER_SECONDS_MAX


@pytest.mark.parametrize("name", IDS)
def test_extreme_names_of_groups_members_and_processes_are_answered(victim: Victim, name: str) -> None:
    sent = topology(subtopology("0", "t"))
    with victim.client() as client:
        client.ask(joining(name, "m", sent))
        client.ask(joining(GROUP, name, sent, process_id=name, rack_id=name, endpoint=(name, 65_535), tags={name: name}))
        client.ask(StreamsGroupDescribeRequest(group_ids=[name, GROUP, name], include_authorized_operations=True))
        for group, member in ((name, "m"), (GROUP, name)):
            client.ask(beat(group, member, -1))
            client.ask(DeleteGroupsRequest(groups_names=[group]))


@pytest.mark.parametrize("epoch", [-(2**31), -3, -2, 2**31 - 1])
def test_extreme_epochs_are_answered(victim: Victim, epoch: int) -> None:
    with victim.client() as client:
        assert client.ask(beat(GROUP, "m", epoch, endpoint_epoch=2**31 - 1)).error_code != ErrorCode.NONE
