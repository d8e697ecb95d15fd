"""CreateTopics."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.conformance.differential.pair import Pair


def topic(
    name: str,
    partitions: int = 1,
    factor: int = 1,
    *,
    assignments: list[tuple[int, list[int]]] | None = None,
    configs: list[tuple[str, str | None]] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=brokers) for index, brokers in assignments or []],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs or []],
    )


def creating(*topics: CreatableTopic, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), validate_only=validate_only, timeout_ms=30_000)


GOOD: dict[str, dict[str, Any]] = {
    "one partition": {},
    "defaults": {"partitions": -1, "factor": -1},
    "three partitions": {"partitions": 3},
    "by hand": {"partitions": -1, "factor": -1, "assignments": [(0, [1]), (1, [1])]},
    "by hand, backwards": {"partitions": -1, "factor": -1, "assignments": [(1, [1]), (0, [1])]},
    "configs": {"configs": [("retention.ms", "1000"), ("cleanup.policy", "compact,delete"), ("min.insync.replicas", "1")]},
    "config with spaces": {"configs": [("retention.ms", " 1000 "), ("cleanup.policy", " compact , delete ")]},
    "empty policy": {"configs": [("cleanup.policy", "")]},
    "max.message.bytes": {"configs": [("max.message.bytes", "0")]},
    "throttled replicas": {"configs": [("leader.replication.throttled.replicas", "*")]},
}


@pytest.mark.parametrize("kind", GOOD)
def test_create_topics_makes_the_same_topics(pair: Pair, kind: str) -> None:
    name = f"made-{list(GOOD).index(kind)}"
    pair.same(lambda peer, version: creating(topic(f"{name}-{version}-dry", **GOOD[kind]), validate_only=True))
    pair.same(lambda peer, version: creating(topic(f"{name}-{version}", **GOOD[kind])))
    # A topic that was only validated does not exist, and a created one does.
    pair.same(lambda peer, version: creating(topic(f"{name}-{version}-dry"), topic(f"{name}-{version}"), validate_only=True))


BAD: dict[str, dict[str, Any]] = {
    "no name": {"name": ""},
    "dot": {"name": "."},
    "dots": {"name": ".."},
    "long": {"name": "x" * 250},
    "longest": {"name": "x" * 249},
    "space": {"name": "a b"},
    "slash": {"name": "a/b"},
    "umlaut": {"name": "ä"},
    "colon": {"name": "a:b"},
    "consumer offsets": {"name": "__consumer_offsets"},
    "transaction state": {"name": "__transaction_state"},
    "share group state": {"name": "__share_group_state"},
    "cluster metadata": {"name": "__cluster_metadata"},
    "remote log metadata": {"name": "__remote_log_metadata"},
    "no partitions": {"partitions": 0},
    "negative partitions": {"partitions": -2},
    "too many partitions": {"partitions": 10_001},
    "no replicas": {"factor": 0},
    "negative replicas": {"factor": -2},
    "two replicas of one broker": {"factor": 2},
    "default partitions": {"partitions": -1},
    "default replicas": {"factor": -1},
    "assignment and partitions": {"partitions": 1, "factor": -1, "assignments": [(0, [1])]},
    "assignment and replicas": {"partitions": -1, "factor": 1, "assignments": [(0, [1])]},
    "assignment and both": {"partitions": 1, "factor": 1, "assignments": [(0, [1])]},
    "assignment with a gap": {"partitions": -1, "factor": -1, "assignments": [(0, [1]), (2, [1])]},
    "assignment from one": {"partitions": -1, "factor": -1, "assignments": [(1, [1])]},
    "assignment below zero": {"partitions": -1, "factor": -1, "assignments": [(-1, [1]), (0, [1])]},
    "partition twice": {"partitions": -1, "factor": -1, "assignments": [(0, [1]), (0, [1])]},
    "broker twice": {"partitions": -1, "factor": -1, "assignments": [(0, [1, 1])]},
    "unknown broker": {"partitions": -1, "factor": -1, "assignments": [(0, [7])]},
    "negative broker": {"partitions": -1, "factor": -1, "assignments": [(0, [-1])]},
    "nobody": {"partitions": -1, "factor": -1, "assignments": [(0, [])]},
    "uneven": {"partitions": -1, "factor": -1, "assignments": [(0, [1]), (1, [1, 2])]},
    "unknown config": {"configs": [("no.such.config", "1")]},
    "broker's config": {"configs": [("log.retention.ms", "1")]},
    "empty config name": {"configs": [("", "1")]},
    "wrong config value": {"configs": [("retention.ms", "soon")]},
    "config too small": {"configs": [("segment.bytes", "1")]},
    "config null": {"configs": [("retention.ms", None)]},
    "config empty": {"configs": [("retention.ms", "")]},
    "config twice": {"configs": [("retention.ms", "1"), ("retention.ms", "2")]},
    "wrong policy": {"configs": [("cleanup.policy", "shred")]},
    "lag the wrong way round": {"configs": [("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")]},
    "remote storage": {"configs": [("remote.storage.enable", "true")]},
    "remote without storage": {"configs": [("remote.log.copy.disable", "true")]},
    "local retention above": {"configs": [("local.retention.ms", "20"), ("retention.ms", "10")]},
    "old message format": {"configs": [("message.format.version", "2.0")]},
    "down-conversion": {"configs": [("message.downconversion.enable", "false")]},
    "gzip level": {"configs": [("compression.gzip.level", "10")]},
    "throttled replicas": {"configs": [("leader.replication.throttled.replicas", "x")]},
    "two faults: name and partitions": {"name": "a b", "partitions": 0},
    "two faults: partitions and config": {"partitions": 0, "configs": [("retention.ms", "soon")]},
    "two faults: factor and partitions": {"partitions": 0, "factor": 0},
    "two faults: factor and config": {"factor": 2, "configs": [("retention.ms", "soon")]},
}


@pytest.mark.parametrize("kind", BAD)
def test_create_topics_judges_a_doubtful_topic(pair: Pair, kind: str) -> None:
    pair.same(creating(topic(**{"name": "doubtful", **BAD[kind]}), validate_only=True))


def test_create_topics_refuses_existing_and_colliding_names(pair: Pair) -> None:
    pair.create("collide.here_now")
    for name in ("collide.here_now", "collide_here_now", "collide.here.now", "collide-here-now"):
        pair.same(creating(topic(name), validate_only=True))
    # Within one request Kafka does not look for collisions, and creates two topics whose metrics
    # have one name.
    ours = pair.barnabas.broker.ask(creating(topic("new.kid"), topic("new_kid"), validate_only=True), 7)
    assert [each.error_code for each in ours.topics] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_create_topics_judges_every_topic_by_itself(pair: Pair) -> None:
    pair.same(creating())
    pair.same(creating(topic("twice"), topic("twice"), topic("once"), validate_only=True))
    pair.same(creating(topic("b", 0), topic("a"), topic("c", factor=9), validate_only=True))
    pair.same(creating(topic("many-1", 6000), topic("many-2", 6000), validate_only=True))


def test_create_topics_at_the_listener_of_the_controller(pair: Pair) -> None:
    pair.same(lambda peer, version: creating(topic(f"direct-{version}", 2)), to_controller=True)
    pair.same(creating(topic("a b"), topic("direct-7"), validate_only=True), to_controller=True)
