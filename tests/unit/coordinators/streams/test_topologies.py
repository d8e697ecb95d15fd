"""Topologies: their partition counts, their problems, and the groups that keep them."""

from __future__ import annotations

import pytest

from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.streams import configured_topology
from barnabas.coordinators.group.streams.configured_topology import ConfiguredTopology, configure
from barnabas.coordinators.group.streams.statuses import StatusCode
from barnabas.coordinators.group.streams.topology import COPARTITION_GROUPS_MAX, SUBTOPOLOGIES_MAX, TOPICS_MAX
from barnabas.coordinators.group.streams.topology_forms import topology_of
from barnabas.coordinators.group.streams.visit_order import in_visit_order
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_heartbeat import Topology
from tests.streams_heartbeats import internal, subtopology, topology
from tests.unit.coordinators.streams.desk import StreamsDesk


def desk(**topics: int) -> StreamsDesk:
    made = StreamsDesk()
    for name, partitions in topics.items():
        made.topic(name, partitions)
    return made


def configured(sent: Topology, **topics: int) -> ConfiguredTopology:
    found = configure(topology_of(sent), desk(**topics).image.topics)
    assert isinstance(found, ConfiguredTopology), found
    return found


def problem(sent: Topology, **topics: int) -> StatusCode | None:
    found = configured(sent, **topics).problem
    return None if found is None else found.code


def counts(sent: Topology, **topics: int) -> dict[str, int]:
    return {name: topic.partitions for name, topic in configured(sent, **topics).missing.items()}


def test_a_subtopology_has_a_task_for_each_partition_of_its_largest_source() -> None:
    found = configured(topology(subtopology("0", "two", "five")), two=2, five=5)
    assert (found.ready, found.subtopologies["0"].task_count) == (True, 5)


def test_a_changelog_has_as_many_partitions_as_tasks() -> None:
    assert counts(topology(subtopology("0", "two", "five", changelogs=[internal("log")])), two=2, five=5) == {"log": 5}


def test_a_repartition_topic_has_the_count_of_the_subtopology_that_writes_it() -> None:
    chain = topology(
        subtopology("0", "five", sinks=["one"]),
        subtopology("1", repartitions=[internal("one")], sinks=["next"]),
        subtopology("2", repartitions=[internal("next")], changelogs=[internal("log")]),
    )
    assert counts(chain, five=5) == {"one": 5, "next": 5, "log": 5}


def test_a_repartition_topic_keeps_the_count_that_the_application_fixed() -> None:
    sent = topology(
        subtopology("0", "five", sinks=["one"]), subtopology("1", repartitions=[internal("one", 3)], changelogs=[internal("log")])
    )
    assert counts(sent, five=5) == {"one": 3, "log": 3}


def test_repartition_topics_of_a_join_follow_the_users_topic() -> None:
    sent = topology(
        subtopology("0", "five", sinks=["one"]),
        subtopology("1", "two", repartitions=[internal("one")], copartitioned=[([0], [0])]),
    )
    assert counts(sent, five=5, two=2) == {"one": 2}


def test_repartition_topics_that_are_joined_get_the_highest_count() -> None:
    sent = topology(
        subtopology("0", "five", sinks=["one"]),
        subtopology("1", "two", sinks=["other"]),
        subtopology("2", repartitions=[internal("one"), internal("other")], copartitioned=[([], [0, 1])]),
    )
    assert counts(sent, five=5, two=2) == {"one": 5, "other": 5}


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (topology(subtopology("0", "nowhere")), StatusCode.MISSING_SOURCE_TOPICS),
        (topology(subtopology("0", "two", "five", copartitioned=[([0, 1], [])])), StatusCode.INCORRECTLY_PARTITIONED_TOPICS),
        (topology(subtopology("0", "five", changelogs=[internal("two")])), StatusCode.INCORRECTLY_PARTITIONED_TOPICS),
        (topology(subtopology("0", "five", changelogs=[internal("log")])), StatusCode.MISSING_INTERNAL_TOPICS),
        (
            topology(
                subtopology("0", "two", sinks=["one"]),
                subtopology("1", "five", repartitions=[internal("one", 3)], copartitioned=[([0], [0])]),
            ),
            StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        ),
        (topology(subtopology("0", "five", "two")), None),
    ],
)
def test_a_topology_that_does_not_fit_its_topics_has_a_status(sent: Topology, code: StatusCode | None) -> None:
    assert problem(sent, two=2, five=5) is code


@pytest.mark.parametrize(
    "sent",
    [
        topology(subtopology("0", repartitions=[internal("loop")], sinks=["loop"])),
        topology(subtopology("0", "five", repartitions=[internal("one")])),
        topology(subtopology("0", "five"), subtopology("1")),
    ],
    ids=["loop", "nothing writes it", "no source"],
)
def test_a_topology_that_no_topics_can_satisfy_is_refused(sent: Topology) -> None:
    found = configure(topology_of(sent), desk(five=5).image.topics)
    assert isinstance(found, Refusal)
    assert found.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_many_missing_topics_are_summed_up() -> None:
    sent = topology(subtopology("0", *(f"absent-{number}" for number in range(5))))
    found = configured(sent).problem
    assert found is not None
    assert found.detail == "Source topics absent-0, absent-1, absent-2 and 2 additional topics are missing."


def test_subtopologies_are_visited_in_the_order_of_javas_hash_maps() -> None:
    # As printed by a HashMap of Java 17 with these keys.
    assert in_visit_order(map(str, range(14))) == ["11", "12", "13", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]
    assert in_visit_order(["b", "a"]) == ["a", "b"]


BOUNDS = {
    "subtopologies": topology(*(subtopology(str(number), "five") for number in range(SUBTOPOLOGIES_MAX + 1))),
    "topics": topology(subtopology("0", *("five" for _ in range(TOPICS_MAX + 1)))),
    "copartition groups": topology(subtopology("0", "five", copartitioned=[([0], []) for _ in range(COPARTITION_GROUPS_MAX + 1)])),
    "repeated ids": topology(subtopology("0", "five"), subtopology("0", "five")),
    "an index beyond the topics": topology(subtopology("0", "five", copartitioned=[([1], [])])),
    "an index below the topics": topology(subtopology("0", "five", copartitioned=[([-1], [])])),
    "a negative count": topology(subtopology("0", "five", sinks=["one"], repartitions=[internal("one", -1)])),
    "a negative epoch": topology(subtopology("0", "five"), epoch=-1),
}


@pytest.mark.parametrize("what", BOUNDS)
def test_a_topology_beyond_all_bounds_is_refused(what: str) -> None:
    assert desk(five=5).joins("a", BOUNDS[what]).error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_a_topology_with_too_many_tasks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configured_topology, "TASKS_MAX", 9)
    sent = topology(subtopology("0", "five"), subtopology("1", "five"))
    assert desk(five=5).joins("a", sent).error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY


# -- groups ----------------------------------------------------------------------------------------


def test_a_group_waits_for_its_topics_and_then_assigns() -> None:
    at = desk(five=5)
    at.joins("a", topology(subtopology("0", "five", changelogs=[internal("log")])))
    assert (at.streams["a"].active, at.streams["a"].statuses) == ({}, [StatusCode.MISSING_INTERNAL_TOPICS])
    assert at.streams_group.state_name == "NotReady"
    at.topic("log", 5)
    at.beats("a")
    assert (at.streams["a"].active, at.streams["a"].statuses) == ({"0": [0, 1, 2, 3, 4]}, [])


def test_a_group_loses_its_tasks_when_a_source_topic_is_deleted() -> None:
    at = desk(five=5)
    at.joins("a", topology(subtopology("0", "five")))
    at.delete("five")
    at.beats("a")
    assert at.streams["a"].statuses == [StatusCode.MISSING_SOURCE_TOPICS]
    assert at.streams["a"].active == {}


def test_topics_of_other_groups_do_not_start_a_rebalance() -> None:
    at = desk(five=5)
    at.joins("a", topology(subtopology("0", "five")))
    epoch = at.streams_group.epoch
    at.topic("other", 1)
    at.beats("a")
    assert at.streams_group.epoch == epoch


def test_members_with_another_topology_are_refused_until_the_group_is_empty() -> None:
    at = desk(five=5, two=2)
    at.joins("a", topology(subtopology("0", "five")))
    changed = topology(subtopology("0", "two"))
    assert at.joins("b", changed).error_code == ErrorCode.INVALID_REQUEST
    at.leaves("a")
    assert at.joins("b", changed).error_code == ErrorCode.NONE
    assert at.streams["b"].active == {"0": [0, 1]}


def test_a_member_with_an_older_topology_follows_the_groups() -> None:
    at = desk(five=5, two=2)
    at.joins("a", topology(subtopology("0", "five"), epoch=2))
    at.joins("b", topology(subtopology("0", "two"), epoch=1))
    assert at.streams["b"].statuses == [StatusCode.STALE_TOPOLOGY]
    at.settle("a", "b")
    assert sorted(at.streams["a"].active["0"] + at.streams["b"].active["0"]) == [0, 1, 2, 3, 4]


def test_endpoints_name_only_partitions_that_a_topic_has() -> None:
    at = desk(five=5, two=2)
    at.joins("a", topology(subtopology("0", "five", "two")), endpoint=("host", 80))
    endpoints = at.beats("a", endpoint_epoch=-1).partitions_by_user_endpoint
    assert endpoints is not None
    (found,) = endpoints
    assert {each.topic: each.partitions for each in found.active_partitions} == {"five": [0, 1, 2, 3, 4], "two": [0, 1]}
