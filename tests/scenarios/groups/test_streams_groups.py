"""Streams groups of a node: the cluster decides whether it serves them, and a restart keeps
them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.scenarios.client import Client
from tests.streams_heartbeats import beat, internal, joining, subtopology, topology
from tests.waiting import until

GROUP = "g"
AT_ONCE = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}
SENT = topology(subtopology("0", "lines", changelogs=[internal("changelog", cleanup_policy="compact")]))


def joined(client: Client) -> Any:
    """The answer to a member that has tasks."""
    client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]))
    answers: list[Any] = []

    def assigned() -> bool:
        answers[:] = [client.ask(joining(GROUP, "m", SENT))]
        return answers[0].error_code == ErrorCode.NONE and bool(answers[0].active_tasks)

    until(assigned, "the member has its tasks", seen=answers.copy)
    return answers[0]


def test_a_node_without_the_protocol_refuses_streams_groups() -> None:
    with EmbeddedBroker(config={"group.coordinator.rebalance.protocols": "classic,consumer"}) as kafka, Client(kafka.bootstrap) as client:
        assert client.ask(joining(GROUP, "m", SENT)).error_code == ErrorCode.UNSUPPORTED_VERSION
        asked = StreamsGroupDescribeRequest(group_ids=[GROUP], include_authorized_operations=False)
        assert [group.error_code for group in client.ask(asked).groups] == [ErrorCode.UNSUPPORTED_VERSION]


def test_a_cluster_of_a_lower_feature_level_refuses_streams_groups() -> None:
    with EmbeddedBroker() as kafka, Client(kafka.bootstrap) as client:
        lower = FeatureUpdateKey(feature="streams.version", max_version_level=0, upgrade_type=2)
        assert client.ask(UpdateFeaturesRequest(timeout_ms=60_000, feature_updates=[lower])).error_code == ErrorCode.NONE
        assert client.ask(joining(GROUP, "m", SENT)).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_member_goes_on_after_its_coordinator_restarted(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path, config=AT_ONCE) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("lines", 2)
        before = joined(client)
        assert [each.partitions for each in before.active_tasks] == [[0, 1]]
    with EmbeddedBroker(data_dir=tmp_path, config=AT_ONCE) as kafka, Client(kafka.bootstrap) as client:
        loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
        answers: list[Any] = []

        def answered() -> bool:
            answers[:] = [client.ask(beat(GROUP, "m", before.member_epoch, active={"0": [0, 1]}))]
            return answers[0].error_code not in loading

        until(answered, "the coordinator is loaded", seen=answers.copy)
        assert (answers[0].error_code, answers[0].member_epoch, answers[0].status) == (ErrorCode.NONE, before.member_epoch, [])
