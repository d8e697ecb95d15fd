"""ApiVersions, DescribeCluster, DescribeQuorum, UpdateFeatures and InitProducerId."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.conformance.differential.pair import Pair

BOTH_LISTENERS = pytest.mark.parametrize("to_controller", [False, True], ids=["broker", "controller"])


JAVA = ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version="4.3.0")


def test_what_brokers_serve(pair: Pair) -> None:
    pair.same(JAVA)


def test_what_controllers_serve(pair: Pair) -> None:
    fewer = "what followers and brokers ask controllers arrives with replication"
    for kafka, barnabas in pair.same(JAVA, to_controller=True, differ={"api_keys": fewer}):
        offered = {each.api_key: each for each in kafka.api_keys}
        assert [each for each in barnabas.api_keys if offered[each.api_key] != each] == []


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a-", ".a", "a", "a.b-c", "ä", "x" * 1000])
def test_names_of_software(pair: Pair, name: str) -> None:
    pair.same(ApiVersionsRequest(client_software_name=name, client_software_version="1"))
    pair.same(ApiVersionsRequest(client_software_name="x", client_software_version=name))


@BOTH_LISTENERS
def test_the_cluster(pair: Pair, to_controller: bool) -> None:
    for kind in (1, 2, 0, 3, -1):
        for fenced in (False, True):
            for operations in (False, True):
                pair.same(
                    DescribeClusterRequest(
                        include_cluster_authorized_operations=operations, endpoint_type=kind, include_fenced_brokers=fenced
                    ),
                    to_controller=to_controller,
                )


def quorum(*partitions: int, topic: str = "__cluster_metadata") -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        topics=[TopicData(topic_name=topic, partitions=[PartitionData(partition_index=index) for index in partitions])]
    )


@BOTH_LISTENERS
def test_the_quorum(pair: Pair, to_controller: bool) -> None:
    pair.same(quorum(0), to_controller=to_controller)
    pair.same(quorum(1), to_controller=to_controller)
    pair.same(quorum(0, topic="elsewhere"), to_controller=to_controller)
    pair.same(quorum(), to_controller=to_controller)
    pair.same(quorum(0, 1), to_controller=to_controller)
    pair.same(DescribeQuorumRequest(topics=[]), to_controller=to_controller)


def updating(*updates: tuple[str, int, int]) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates],
        validate_only=True,
    )


UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@BOTH_LISTENERS
@pytest.mark.parametrize(
    "updates",
    [
        [("metadata.version", 30, UPGRADE)],
        [("metadata.version", 30, SAFE_DOWNGRADE)],
        [("metadata.version", 30, UNSAFE_DOWNGRADE)],
        [("metadata.version", 30, 0)],
        [("metadata.version", 30, 9)],
        [("metadata.version", 99, UPGRADE)],
        [("metadata.version", 0, UPGRADE)],
        [("metadata.version", 0, UNSAFE_DOWNGRADE)],
        [("metadata.version", -1, UPGRADE)],
        [("no.such.feature", 1, UPGRADE)],
        [("no.such.feature", 0, SAFE_DOWNGRADE)],
        [("", 1, UPGRADE)],
        [("metadata.version", 30, UPGRADE), ("no.such.feature", 1, UPGRADE)],
        [("metadata.version", 30, UPGRADE), ("metadata.version", 30, UPGRADE)],
        [],
    ],
    ids=str,
)
def test_feature_updates_are_judged_alike(pair: Pair, updates: list[tuple[str, int, int]], to_controller: bool) -> None:
    pair.same(updating(*updates), to_controller=to_controller)


def test_feature_updates_of_version_0(pair: Pair) -> None:
    for level, down in ((30, False), (30, True), (99, False), (0, False)):
        updates = [FeatureUpdateKey(feature="metadata.version", max_version_level=level, allow_downgrade=down)]
        pair.same(UpdateFeaturesRequest(feature_updates=updates), [0])


def test_identities_for_producers(pair: Pair) -> None:
    anonymous = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    # Kafka has no ids until its controller has sent a block of them, and says so once.
    while pair.kafka.broker.ask(anonymous, 5).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        pass
    pair.same(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
    pair.same(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1))
    pair.same(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000))
    for producer_id, epoch in ((5, 3), (5, -1), (-1, 3), (-2, -2), (0, 0)):
        pair.same(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000, producer_id=producer_id, producer_epoch=epoch))
