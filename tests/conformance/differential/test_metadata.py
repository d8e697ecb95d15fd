"""Metadata."""

from __future__ import annotations

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential.pair import Pair, Peer

NOWHERE = Uuid(bytes(15) + b"\7")
WITHOUT_CREATION = range(4, 14)


def about(*topics: str | Uuid | None, **options: bool) -> MetadataRequest:
    named = [
        MetadataRequestTopic(name=None, topic_id=each) if isinstance(each, bytes) else MetadataRequestTopic(name=each) for each in topics
    ]
    return MetadataRequest(topics=named, allow_auto_topic_creation=False, **options)


def test_metadata_describes_known_topics(pair: Pair) -> None:
    pair.create("known", 3)
    pair.create("known-too")
    known = [MetadataRequestTopic(name="known"), MetadataRequestTopic(name="known-too")]
    # Versions 0 to 3 cannot forbid creation, and no topic is missing here.
    pair.same(MetadataRequest(topics=known))
    pair.same(MetadataRequest(topics=known[::-1]))
    pair.same(MetadataRequest(topics=known + known))


def test_metadata_takes_all_topics_and_no_topics(pair: Pair) -> None:
    pair.same(MetadataRequest(topics=None), range(1, 14))
    pair.same(MetadataRequest(topics=[]))


def test_metadata_refuses_missing_and_impossible_topics(pair: Pair) -> None:
    for name in ("missing", "a b", "", ".", "x" * 250, "__consumer_offsets", "__cluster_metadata"):
        pair.same(about(name), WITHOUT_CREATION)
    pair.same(about("missing", "a b", "missing"), WITHOUT_CREATION)


def test_metadata_finds_topics_by_id(pair: Pair) -> None:
    pair.create("by-id")
    pair.same(lambda peer, version: about(peer.topic_id("by-id")), [10, 11, 12, 13])
    pair.same(about(NOWHERE), [10, 11, 12, 13])
    pair.same(about(ZERO_UUID), [10, 11])
    trips = "Kafka trips over a topic with neither name nor id and answers UNKNOWN_SERVER_ERROR; we say INVALID_REQUEST"
    pair.same(about(ZERO_UUID), [12, 13], differ={"topics[].error_code": trips, "error_code": trips})
    pair.same(lambda peer, version: about(peer.topic_id("by-id"), NOWHERE), [12, 13])

    def both(peer: Peer, version: int) -> MetadataRequest:
        topics = [MetadataRequestTopic(name="by-id", topic_id=peer.topic_id("by-id"))]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=False)

    pair.same(both, [10, 11, 12, 13])
    pair.same(lambda peer, version: about("by-id", peer.topic_id("by-id")), [12, 13])


def test_metadata_names_the_allowed_operations(pair: Pair) -> None:
    pair.create("operated")
    pair.same(about("operated", "missing", include_topic_authorized_operations=True), range(8, 14))
    pair.same(about("operated", include_cluster_authorized_operations=True), range(8, 11))
