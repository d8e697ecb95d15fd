"""Requests about topics."""

from __future__ import annotations

from typing import Any

from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.wire.messages import describe_producers, describe_topic_partitions
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.conformance.authorization.case import ABSENT, HIDDEN, OPEN, TOPICS, TXN, Case, Question, by_name_or_id
from tests.conformance.authorization.sides import Side

NOW_MS = 1_700_000_000_000
# Versions in which topics have ids.
PRODUCE_IDS, FETCH_IDS = 13, 13
TIMES = {"responses[].partition_responses[].log_append_time_ms": "a time"}
OFFSETS = {
    "responses[].partitions[].records": "the records of earlier cases",
    "responses[].partitions[].high_watermark": "grows with each case",
    "responses[].partitions[].last_stable_offset": "grows with each case",
}


def batch(**options: Any) -> bytes:
    return bytes(build_batch([Record(0, NOW_MS, None, b"value")], **options))


def produce(*topics: str, transactional_id: str | None = None, acks: int = 1, **options: Any) -> Question:
    def ask(side: Side, version: int) -> ProduceRequest:
        return ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    **by_name_or_id(side, version, PRODUCE_IDS, topic),
                    partition_data=[PartitionProduceData(index=0, records=batch(**options))],
                )
                for topic in topics
            ],
        )

    return ask


def fetch(*topics: str, replica: int = -1) -> Question:
    def ask(side: Side, version: int) -> FetchRequest:
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            session_id=0,
            session_epoch=-1,
            topics=[
                FetchTopic(
                    **by_name_or_id(side, version, FETCH_IDS, topic, "topic"),
                    partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)],
                )
                for topic in topics
            ],
            forgotten_topics_data=[],
        )
        if version >= 15:
            request.replica_state = ReplicaState(replica_id=replica, replica_epoch=-1)
        else:
            request.replica_id = replica
        return request

    return ask


def list_offsets(replica: int = -1) -> Question:
    asked = [ListOffsetsTopic(name=each, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-2)]) for each in TOPICS]
    return lambda side, version: ListOffsetsRequest(replica_id=replica, topics=asked)


def epochs(replica: int) -> Question:
    asked = [
        OffsetForLeaderTopic(topic=each, partitions=[OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=9)])
        for each in TOPICS
    ]
    return lambda side, version: OffsetForLeaderEpochRequest(topics=asked, **({"replica_id": replica} if version >= 3 else {}))


def metadata(*topics: str, create: bool = False, operations: bool = False) -> Question:
    def ask(side: Side, version: int) -> MetadataRequest:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=each) for each in topics])
        if version >= 4:
            request.allow_auto_topic_creation = create
        if 8 <= version <= 10:
            request.include_cluster_authorized_operations = operations
        if version >= 8:
            request.include_topic_authorized_operations = operations
        return request

    return ask


def metadata_of_all(side: Side, version: int) -> MetadataRequest:
    return MetadataRequest(topics=[] if version == 0 else None)


def metadata_by_id(side: Side, version: int) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=None, topic_id=side.topic_id(each)) for each in TOPICS],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )


def create_topics(*names: str, validate: bool = True) -> Question:
    def ask(side: Side, version: int) -> CreateTopicsRequest:
        configs = [CreatableTopicConfig(name="retention.ms", value="1000")]
        topics = [CreatableTopic(name=each, num_partitions=1, replication_factor=1, assignments=[], configs=configs) for each in names]
        return CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=validate)

    return ask


def create_fresh(side: Side, version: int) -> CreateTopicsRequest:
    topic = CreatableTopic(name=side.fresh(), num_partitions=1, replication_factor=1, assignments=[], configs=[])
    return CreateTopicsRequest(topics=[topic], timeout_ms=10_000)


def delete_topics(side: Side, version: int) -> DeleteTopicsRequest:
    """A topic that exists and one that does not. Two rules about a prefix are not enough for the
    guarded one, but a rule about the cluster is, so it cannot be HIDDEN, which other cases need."""
    names = [side.create(side.fresh()), side.fresh(), side.create(side.fresh("guarded")), ABSENT]
    if version < 6:
        return DeleteTopicsRequest(topic_names=names, timeout_ms=10_000)
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=each) for each in names], timeout_ms=10_000)


def delete_topics_by_id(side: Side, version: int) -> DeleteTopicsRequest:
    ids = [side.topic_id(side.create(side.fresh())), side.topic_id(side.create(side.fresh("guarded"))), side.topic_id(ABSENT)]
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=each) for each in ids], timeout_ms=10_000)


def delete_records(side: Side, version: int) -> DeleteRecordsRequest:
    asked = [DeleteRecordsTopic(name=each, partitions=[DeleteRecordsPartition(partition_index=0, offset=0)]) for each in TOPICS]
    return DeleteRecordsRequest(topics=asked, timeout_ms=10_000)


def create_partitions(side: Side, version: int) -> CreatePartitionsRequest:
    asked = [CreatePartitionsTopic(name=each, count=5, assignments=None) for each in TOPICS]
    return CreatePartitionsRequest(topics=asked, timeout_ms=10_000, validate_only=True)


def topic_partitions(side: Side, version: int) -> DescribeTopicPartitionsRequest:
    asked = [describe_topic_partitions.TopicRequest(name=each) for each in TOPICS]
    return DescribeTopicPartitionsRequest(topics=asked)


def all_topic_partitions(side: Side, version: int) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(topics=[])


def producers(side: Side, version: int) -> describe_producers.DescribeProducersRequest:
    asked = [describe_producers.TopicRequest(name=each, partition_indexes=[0, 7]) for each in TOPICS]
    return describe_producers.DescribeProducersRequest(topics=asked)


CASES = [
    Case("Produce", ProduceRequest, produce(*TOPICS), ("WRITE topic",), differ=TIMES, versions=(3, 7, 12, 13)),
    Case(
        "Produce idempotent",
        ProduceRequest,
        produce(OPEN, HIDDEN, producer_id=123_456, producer_epoch=0, base_sequence=0),
        ("WRITE topic",),
        differ=TIMES,
    ),
    Case(
        "Produce transactional",
        ProduceRequest,
        produce(OPEN, transactional_id=TXN, producer_id=654_321, producer_epoch=0, base_sequence=0, transactional=True),
        ("WRITE topic", "WRITE txn"),
        (("WRITE txn txn", "DENY DESCRIBE txn txn", "WRITE topic open"),),
        differ=TIMES,
    ),
    Case("Produce without records of a transaction", ProduceRequest, produce(OPEN, transactional_id=TXN), ("WRITE topic",), differ=TIMES),
    Case("Produce internal", ProduceRequest, produce("__consumer_offsets"), (), (("WRITE topic __consumer_offsets",),), differ=TIMES),
    Case("Fetch", FetchRequest, fetch(*TOPICS), ("READ topic",), differ=OFFSETS, versions=(4, 12, 13, 18)),
    Case(
        "Fetch as a follower",
        FetchRequest,
        fetch(OPEN, HIDDEN, replica=77),
        ("READ topic",),
        (("CLUSTER_ACTION cluster",),),
        differ=OFFSETS | {"node_endpoints": "Kafka tells consumers alone where the leader is"},
        versions=(12, 13, 18),
    ),
    Case("ListOffsets", ListOffsetsRequest, list_offsets(), ("DESCRIBE topic",), (("READ topic open",), ("ALTER_CONFIGS topic open",))),
    Case(
        "ListOffsets as a replica",
        ListOffsetsRequest,
        list_offsets(1),
        ("DESCRIBE topic",),
        (("CLUSTER_ACTION cluster",), ("DESCRIBE topic open", "CLUSTER_ACTION cluster")),
    ),
    Case("OffsetForLeaderEpoch", OffsetForLeaderEpochRequest, epochs(-2), ("DESCRIBE topic",), (("CLUSTER_ACTION cluster",),)),
    Case("OffsetForLeaderEpoch as a replica", OffsetForLeaderEpochRequest, epochs(1), ("DESCRIBE topic",), (("CLUSTER_ACTION cluster",),)),
    Case("Metadata", MetadataRequest, metadata(*TOPICS), ("DESCRIBE topic",), versions=(1, 4, 12, 13)),
    Case("Metadata of all", MetadataRequest, metadata_of_all, ("DESCRIBE topic",)),
    Case("Metadata by id", MetadataRequest, metadata_by_id, ("DESCRIBE topic",), versions=(12, 13)),
    Case(
        "Metadata with operations",
        MetadataRequest,
        metadata(*TOPICS, operations=True),
        ("DESCRIBE topic",),
        (
            ("READ topic open", "DESCRIBE cluster"),
            ("ALL topic open", "ALL cluster"),
            ("ALL topic open", "DENY WRITE topic open", "ALTER cluster"),
        ),
        versions=(8, 10, 13),
    ),
    Case(
        "Metadata that may not create",
        MetadataRequest,
        metadata(ABSENT, HIDDEN, create=True),
        ("DESCRIBE topic",),
        (("CREATE topic absent",), ("CREATE cluster",)),
        versions=(4, 13),
    ),
    Case(
        "CreateTopics",
        CreateTopicsRequest,
        create_topics(*TOPICS),
        ("CREATE topic", "DESCRIBE_CONFIGS topic"),
        (("CREATE cluster",), ("CREATE cluster", "DESCRIBE topic open"), ("CREATE topic open", "ALTER_CONFIGS topic open")),
        versions=(2, 4, 5, 7),
    ),
    Case("CreateTopics for good", CreateTopicsRequest, create_fresh, (), (("CREATE topic fresh*",), ("CREATE cluster",))),
    Case(
        "DeleteTopics",
        DeleteTopicsRequest,
        delete_topics,
        ("DELETE topic fresh*", "DESCRIBE topic fresh*"),
        (("DELETE cluster",), ("DELETE cluster", "DESCRIBE topic fresh*"), ("DELETE topic *", "DENY DESCRIBE topic *")),
        versions=(1, 5, 6),
    ),
    Case(
        "DeleteTopics by id",
        DeleteTopicsRequest,
        delete_topics_by_id,
        ("DELETE topic fresh*", "DESCRIBE topic fresh*"),
        (("DELETE cluster",), ("DELETE cluster", "DESCRIBE topic fresh*"), ("DELETE topic *", "DENY DESCRIBE topic *")),
        versions=(6,),
    ),
    Case("DeleteRecords", DeleteRecordsRequest, delete_records, ("DELETE topic",)),
    Case("CreatePartitions", CreatePartitionsRequest, create_partitions, ("ALTER topic",)),
    Case("DescribeTopicPartitions", DescribeTopicPartitionsRequest, topic_partitions, ("DESCRIBE topic",)),
    Case(
        "DescribeTopicPartitions of all",
        DescribeTopicPartitionsRequest,
        all_topic_partitions,
        ("DESCRIBE topic",),
    ),
    Case("DescribeProducers", describe_producers.DescribeProducersRequest, producers, ("READ topic",), (("DESCRIBE topic open",),)),
]

# One need, in every way in which a rule can be written.
MATCHING = Case(
    "Metadata by rules of all kinds",
    MetadataRequest,
    metadata(*TOPICS),
    (),
    (
        ("READ topic *",),
        ("READ topic o*",),
        ("READ topic *", "DENY DESCRIBE topic op*"),
        ("READ topic *", "DENY READ topic op*"),
        ("READ topic *", "DENY ALL topic hidden"),
        ("DESCRIBE topic *", "DENY DESCRIBE topic *"),
        ("READ topic open from 127.0.0.1",),
        ("READ topic open from 127.0.0.2",),
        ("READ topic open", "DENY DESCRIBE topic open from 127.0.0.1"),
        ("READ topic open", "DENY DESCRIBE topic open from 10.0.0.1"),
        ("ALL topic open",),
        ("ALTER_CONFIGS topic open",),
        ("DESCRIBE_CONFIGS topic open",),
        ("CREATE topic open",),
        ("DELETE topic open",),
        ("ALTER topic open",),
        ("CLUSTER_ACTION cluster",),
        ("ALL cluster",),
        ("READ group open",),
    ),
    versions=(12,),
)
CASES.append(MATCHING)
