"""The hash over the topics of a group beside Kafka's own."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from barnabas.coordinators.group.metadata_hash import metadata_hash
from barnabas.metadata.topics import PartitionImage, TopicImage, TopicsImage
from barnabas.model.ids import Uuid
from peers.apache_kafka import why_missing
from tests.conformance.streams.oracle import ask_kafka

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

CASES = 300
RACKS = {1: "a", 2: "rack-b", 3: "\u00e4\u20ac\U0001f600", 4: "a"}


def random_topics(seed: int) -> TopicsImage:
    """Short and long ones: XXH3 treats inputs of 16, 128 and 240 bytes differently. Broker 5 has no
    rack.
    """
    chance = Random(seed)
    made = {}
    for number in range(chance.randrange(4)):
        name = f"topic-{number}-{'x' * chance.randrange(100)}"
        partitions = {}
        for index in range(chance.choice((1, 2, 7, 60))):
            replicas = tuple(chance.sample(range(1, 6), chance.randrange(1, 4)))
            partitions[index] = PartitionImage(replicas=replicas, isr=replicas, leader=1, leader_epoch=0, partition_epoch=0)
        made[name] = TopicImage(name, Uuid(chance.randbytes(16)), partitions)
    return TopicsImage(by_name=made)


def question(topics: TopicsImage) -> dict[str, Any]:
    described = {
        name: {
            "id": topic.topic_id.hex(),
            "racks": [[RACKS[each] for each in partition.replicas if each in RACKS] for _, partition in sorted(topic.partitions.items())],
        }
        for name, topic in topics.by_name.items()
    }
    return {"kind": "hash", "topics": described}


def test_the_hash_of_topics_is_kafkas() -> None:
    cases = [random_topics(seed) for seed in range(CASES)]
    kafka = [int(answer) for answer in ask_kafka([question(topics) for topics in cases])]
    assert [metadata_hash([*topics.by_name, "absent"], topics, RACKS) for topics in cases] == kafka
    assert len(set(kafka)) > CASES / 2
