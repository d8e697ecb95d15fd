"""DescribeTopicPartitions."""

from __future__ import annotations

from barnabas.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from tests.conformance.differential.pair import Pair


def page(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )


def test_describe_topic_partitions_answers_in_pages(pair: Pair) -> None:
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


def test_describe_topic_partitions_pages_through_all_topics(pair: Pair) -> None:
    pair.create("zz-last", 2)
    pair.same(page(cursor=("zz", 0)))
    pair.same(page(cursor=("zz-last", 1)))


def test_describe_topic_partitions_refuses_missing_topics_within_a_page(pair: Pair) -> None:
    pair.create("page-known", 2)
    for name in ("missing", "a b", "__consumer_offsets"):
        pair.same(page(name))
    trips = "Kafka trips over a topic without a name and answers UNKNOWN_SERVER_ERROR; we say INVALID_TOPIC_EXCEPTION"
    pair.same(page(""), differ={"topics[].error_code": trips, "topics[].topic_authorized_operations": trips})
    pair.same(page("page-known", "missing", "page-known"))
    pair.same(page("page-known", "aa-missing", "zz-missing", limit=2))
    pair.same(page("page-known", "aa-missing", limit=1, cursor=("aa", 0)))
    pair.same(page("page-known", "aa-missing", cursor=("aa-missing", 0)))
