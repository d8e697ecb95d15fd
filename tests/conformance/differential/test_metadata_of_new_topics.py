"""Metadata that creates topics, with ``barnabas.auto.create.topics.wait.ms=0``: Kafka's way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential.pair import Pair, Peer
from tests.waiting import until

VERSIONS = range(14)


@pytest.fixture(scope="module")
def at_once(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    data = tmp_path_factory.mktemp("at-once")
    with EmbeddedBroker(data_dir=data, config={"barnabas.auto.create.topics.wait.ms": "0", "num.partitions": "2"}) as node:
        barnabas = Peer("Barnabas", node.bootstrap, data)
        yield Pair(pair.kafka, barnabas)
        barnabas.close()


def creating(*names: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])


def of_the_topics(peer: Peer, request: MetadataRequest, version: int) -> list[tuple[object, ...]]:
    """Error, name and partitions of each topic; both clusters have other topics and brokers."""
    topics = peer.broker.ask(request, version).topics
    return sorted((each.error_code, each.name, len(each.partitions)) for each in topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_metadata_has_an_error_for_a_topic_that_it_creates(at_once: Pair, version: int) -> None:
    request = creating(f"new-{version}", f"newer-{version}")
    first = [of_the_topics(peer, request, version) for peer in at_once.peers]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert first[1] == first[0] == [(unknown, f"new-{version}", 0), (unknown, f"newer-{version}", 0)]
    for peer in at_once.peers:
        until(
            lambda peer=peer: of_the_topics(peer, request, version) == [(0, f"new-{version}", 2), (0, f"newer-{version}", 2)],  # type: ignore[misc]
            "the topics exist",
        )


def test_metadata_has_the_same_errors_for_topics_that_it_cannot_create(at_once: Pair) -> None:
    request = creating("not valid", ".", "created-beside")
    kafka, barnabas = (of_the_topics(peer, request, 12) for peer in at_once.peers)
    assert barnabas == kafka


def test_metadata_that_may_not_create_leaves_the_topic_missing(at_once: Pair) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="forbidden")], allow_auto_topic_creation=False)
    for _ in range(2):
        kafka, barnabas = (of_the_topics(peer, request, 12) for peer in at_once.peers)
        assert barnabas == kafka == [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "forbidden", 0)]
