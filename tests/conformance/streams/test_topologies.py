"""Random topologies, configured by our function and by Kafka's InternalTopicManager."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.streams.configured_topology import configure
from barnabas.coordinators.group.streams.topology_forms import topology_of
from barnabas.metadata.topics import PartitionImage, TopicImage, TopicsImage
from barnabas.model.ids import Uuid
from barnabas.wire.messages.streams_group_heartbeat import Topology
from peers.apache_kafka import why_missing
from tests.conformance.streams.oracle import ask_kafka
from tests.streams_heartbeats import internal, subtopology, topology

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

CASES = 3_000
PARTITION = PartitionImage(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)


def random_case(seed: int) -> tuple[Topology, dict[str, int]]:
    """Most fit together, so that the counts are compared; some do not."""
    chance = Random(seed)
    common = chance.randrange(1, 6)
    topics = {f"source-{number}": common if chance.random() < 0.6 else chance.randrange(1, 6) for number in range(4)}
    repartitions = [f"repartition-{number}" for number in range(chance.randrange(4))]
    fixed = {name: chance.choice((0, 0, 0, common, chance.randrange(1, 6))) for name in repartitions}
    made = []
    for number in range(chance.randrange(1, 14)):
        sources = chance.sample(sorted(topics), chance.randrange(3))
        read = chance.sample(repartitions, chance.randrange(len(repartitions) + 1)) if chance.random() < 0.6 else []
        if not sources and not read and chance.random() < 0.98:
            sources = ["source-0"]
        groups = []
        if chance.random() < 0.4:
            groups = [(sorted(chance.sample(range(len(sources)), len(sources))), list(range(len(read))))]
        made.append(
            subtopology(
                str(number),
                *sources,
                changelogs=[internal(f"changelog-{number}")] if chance.random() < 0.5 else [],
                sinks=chance.sample(repartitions, chance.randrange(len(repartitions) + 1)) if chance.random() < 0.6 else [],
                repartitions=[internal(name, fixed[name]) for name in read],
                copartitioned=groups,
            )
        )
    for name in (*repartitions, "changelog-0"):
        if chance.random() < 0.1:
            topics[name] = common
    if chance.random() < 0.05:
        del topics["source-1"]
    return topology(*made), topics


def question(sent: Topology, topics: dict[str, int]) -> dict[str, Any]:
    return {
        "kind": "configure",
        "topics": {name: {"id": "0" * 32, "racks": [[] for _ in range(count)]} for name, count in topics.items()},
        "subtopologies": [
            {
                "id": each.subtopology_id,
                "sources": each.source_topics,
                "sinks": each.repartition_sink_topics,
                "repartitions": [[topic.name, topic.partitions] for topic in each.repartition_source_topics],
                "changelogs": [[topic.name, topic.partitions] for topic in each.state_changelog_topics],
                "copartitioned": [[group.source_topics, group.repartition_source_topics] for group in each.copartition_groups],
            }
            for each in sent.subtopologies
        ],
    }


def ours(sent: Topology, topics: dict[str, int]) -> dict[str, Any]:
    by_name = {name: TopicImage(name, Uuid(bytes(16)), dict.fromkeys(range(count), PARTITION)) for name, count in topics.items()}
    found = configure(topology_of(sent), TopicsImage(by_name=by_name))
    if isinstance(found, Refusal):
        return {"refused": found.message}
    return {
        "tasks": {name: each.task_count for name, each in found.subtopologies.items()},
        "missing": {name: topic.partitions for name, topic in found.missing.items()},
        "status": None if found.problem is None else int(found.problem.code),
        "detail": None if found.problem is None else found.problem.detail,
    }


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Kafka names missing topics, and the first topic with a wrong count, in the order of a hash
    set.
    """
    if answer.get("status") == 3 or str(answer.get("detail")).startswith(("Existing topic", "Number of partitions")):
        return {**answer, "detail": None}
    return answer


def test_kafka_and_barnabas_find_the_same_counts_and_problems() -> None:
    cases = [random_case(seed) for seed in range(CASES)]
    answers = ask_kafka([question(*case) for case in cases])
    wrong = [
        (case, kafka, found) for case, kafka in zip(cases, answers, strict=True) if comparable(kafka) != comparable(found := ours(*case))
    ]
    assert not wrong, f"{len(wrong)} of {CASES}: {wrong[0]}"
    # The cases are worth comparing: all outcomes are among them.
    assert {each.get("status", "refused" if "refused" in each else None) for each in answers} >= {None, 1, 2, 3, "refused"}
