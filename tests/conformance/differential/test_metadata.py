"""Metadata and DescribeTopicPartitions."""

from __future__ import annotations

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential.pair import Pair, Peer

NOWHERE = Uuid(bytes(15) + b"\7")
WITHOUT_CREATION = range(4, 14)


def about(*topics: str | Uuid | None, **options: bool) -> MetadataRequest:
    named = [
        MetadataRequestTopic(name=None, topic_id=each) if isinstance(each, bytes) else MetadataRequestTopic(name=each) for each in topics
    ]
    return MetadataRequest(topics=named, allow_auto_topic_creation=False, **options)


def test_known_topics(pair: Pair) -> None:
    pair.create("known", 3)
    pair.create("known-too")
    known = [MetadataRequestTopic(name="known"), MetadataRequestTopic(name="known-too")]
    # Versions 0 to 3 cannot forbid creation, and nothing is missing here.
    pair.same(MetadataRequest(topics=known))
    pair.same(MetadataRequest(topics=known[::-1]))
    pair.same(MetadataRequest(topics=known + known))


def test_all_topics_and_none(pair: Pair) -> None:
    pair.same(MetadataRequest(topics=None), range(1, 14))
    pair.same(MetadataRequest(topics=[]))


def test_missing_and_impossible_topics(pair: Pair) -> None:
    for name in ("missing", "a b", "", ".", "x" * 250, "__consumer_offsets", "__cluster_metadata"):
        pair.same(about(name), WITHOUT_CREATION)
    pair.same(about("missing", "a b", "missing"), WITHOUT_CREATION)


def test_topics_by_id(pair: Pair) -> None:
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


def test_allowed_operations(pair: Pair) -> None:
    pair.create("operated")
    pair.same(about("operated", "missing", include_topic_authorized_operations=True), range(8, 14))
    pair.same(about("operated", include_cluster_authorized_operations=True), range(8, 11))


# -- in pages -----------------------------------------------------------------------------------------------------------------


def page(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )


def test_pages(pair: Pair) -> None:
    for name, partitions in (("page-a", 3), ("page-b", 2), ("page-c", 1)):
        pair.create(name, partitions)
    names = ("page-c", "page-a", "page-b")
    pair.same(page(*names))
    for limit in (1, 2, 3, 4, 5, 6, 0, -1, 100_000):
        pair.same(page(*names, limit=limit))
    for cursor in (("page-a", 0), ("page-a", 2), ("page-a", 3), ("page-b", 1), ("page-bb", 0), ("page-c", 0), ("page-z", 0), ("", 0)):
        pair.same(page(*names, limit=2, cursor=cursor))
        pair.same(page(*names, cursor=cursor))
    pair.same(page("page-a", cursor=("page-a", -1)))


def test_pages_of_all_topics(pair: Pair) -> None:
    pair.create("zz-last", 2)
    pair.same(page(cursor=("zz", 0)))
    pair.same(page(cursor=("zz-last", 1)))


def test_pages_with_missing_topics(pair: Pair) -> None:
    pair.create("page-known", 2)
    for name in ("missing", "a b", "__consumer_offsets"):
        pair.same(page(name))
    trips = "Kafka trips over a topic without a name and answers UNKNOWN_SERVER_ERROR; we say INVALID_TOPIC_EXCEPTION"
    pair.same(page(""), differ={"topics[].error_code": trips, "topics[].topic_authorized_operations": trips})
    pair.same(page("page-known", "missing", "page-known"))
    pair.same(page("page-known", "aa-missing", "zz-missing", limit=2))
    pair.same(page("page-known", "aa-missing", limit=1, cursor=("aa", 0)))
    pair.same(page("page-known", "aa-missing", cursor=("aa-missing", 0)))
