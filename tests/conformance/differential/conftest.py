"""One Kafka and one Barnabas for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from peers.apache_kafka import free_port, why_missing
from peers.jvm import compiled
from tests.conformance.differential import group_offsets, share_states
from tests.conformance.differential.log_requests import BATCHES
from tests.conformance.differential.offset_requests import GROUPS, TRANSACTIONS, await_success, committed
from tests.conformance.differential.pair import Pair, kafka_and_barnabas
from tests.conformance.differential.produced import produce
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.transaction_requests import init


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = why_missing()
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.java)
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="package")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with kafka_and_barnabas(tmp_path_factory.mktemp("differential")) as both:
        yield both


@pytest.fixture(scope="package")
def receiving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Brokers that have a place for the metrics of clients: an exporter in Kafka, the metrics page
    in Barnabas. Their quorums are dynamic, so that the feature kraft.version is finalized."""
    with kafka_and_barnabas(
        tmp_path_factory.mktemp("receiving"),
        of_kafka={"metric.reporters": "TelemetryExporter", "telemetry.max.bytes": "20000"},
        of_barnabas={"barnabas.prometheus.listener": f"127.0.0.1:{free_port()}", "telemetry.max.bytes": "20000"},
        dynamic_quorum=True,
        classes=compiled(Path(__file__).with_name("TelemetryExporter.java")),
    ) as both:
        yield both


@pytest.fixture(scope="package")
def coordinators(pair: Pair) -> None:
    """The internal topics are created at the first question for a coordinator, and their shards are
    loaded a moment later."""
    with Scene(pair) as scene:
        for key_type in (0, 1):
            asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["anybody"])
            scene.until(asked, lambda answer: answer.coordinators[0].error_code == ErrorCode.NONE)
        groups = DescribeGroupsRequest(groups=[f"group {number}" for number in range(400)])
        scene.until(groups, lambda answer: all(group.error_code == ErrorCode.GROUP_ID_NOT_FOUND for group in answer.groups))
        ids = DescribeTransactionsRequest(transactional_ids=[f"id {number}" for number in range(400)])
        scene.until(init(None), lambda answer: answer.error_code == ErrorCode.NONE)
        unknown = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        scene.until(ids, lambda answer: all(each.error_code == unknown for each in answer.transaction_states))


@pytest.fixture
def scene(pair: Pair, coordinators: None) -> Iterator[Scene]:
    """A script in the newest versions."""
    with Scene(pair) as scene:
        yield scene


@pytest.fixture(scope="package")
def share_coordinator(pair: Pair) -> None:
    """A topic, and the internal topic for its share partitions, whose shards are loaded a moment
    after it is created."""
    pair.create(share_states.TOPIC, share_states.PARTITIONS)
    with Scene(pair) as scene:
        asked = FindCoordinatorRequest(key_type=2, coordinator_keys=["anybody:AAAAAAAAAAAAAAAAAAAAAQ:0"])
        scene.until(asked, lambda answer: answer.coordinators[0].error_code == ErrorCode.NONE)
        for number in range(400):
            summary = share_states.summary(f"group {number}", *range(share_states.PARTITIONS))
            scene.until(summary, lambda answer: not any(each.error_code for each in answer.results[0].partitions))


@pytest.fixture(scope="package")
def read(pair: Pair) -> str:
    """A topic of two partitions, and coordinators, which both sides create at the first question
    for one."""
    pair.create("read", 2)
    for peer in pair.peers:
        for kind in (GROUPS, TRANSACTIONS):
            asked = FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"])
            await_success(peer, asked, 6, lambda answer: answer.coordinators[0].error_code)
        await_success(peer, committed("warm up", ("read", 0, 1))(peer, 9), 9, lambda answer: answer.topics[0].partitions[0].error_code)
    return "read"


@pytest.fixture(scope="package")
def offset_topics(pair: Pair, coordinators: None) -> None:
    """The topics that the tests of group offsets commit for."""
    pair.create(group_offsets.TOPIC, 3)
    pair.create(group_offsets.OTHER, 1)


@pytest.fixture(scope="package")
def timed(pair: Pair) -> str:
    """A topic whose first partition has batches of known timestamps."""
    pair.create("timed", 2)
    produce(pair, "timed", BATCHES)
    return "timed"
