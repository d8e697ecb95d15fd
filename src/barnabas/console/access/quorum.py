"""The controllers' quorum, as DescribeQuorum shows it."""

from __future__ import annotations

from typing import Any

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refuse_error
from barnabas.console.core.health import QuorumMember, quorum_members
from barnabas.console.core.quorum import QuorumState, Replica, quorum_state
from barnabas.model.ids import ZERO_UUID, uuid_text
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    ResponsePartitionData,
    TopicData,
)

_TOPIC = "__cluster_metadata"


async def quorum(client: ClusterClient, now_ms: int) -> list[QuorumMember]:
    found, _ = await _asked(client)
    return quorum_members(found.leader_id, map(_state, found.current_voters), map(_state, found.observers), now_ms)


async def described_quorum(client: ClusterClient, now_ms: int) -> QuorumState:
    found, response = await _asked(client)
    return quorum_state(
        leader=found.leader_id,
        epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        voters=map(_replica, found.current_voters),
        observers=map(_replica, found.observers),
        endpoints={each.node_id: [f"{one.name}://{one.host}:{one.port}" for one in each.listeners] for each in response.nodes},
        now_ms=now_ms,
    )


async def _asked(client: ClusterClient) -> tuple[ResponsePartitionData, DescribeQuorumResponse]:
    response: DescribeQuorumResponse = await client.ask_any(
        DescribeQuorumRequest(topics=[TopicData(topic_name=_TOPIC, partitions=[PartitionData(partition_index=0)])])
    )
    refuse_error(response.error_code, response.error_message, "Cannot describe the quorum")
    found = response.topics[0].partitions[0]
    refuse_error(found.error_code, found.error_message, "Cannot describe the quorum")
    return found, response


def _state(given: Any) -> tuple[int, int, int]:
    return given.replica_id, given.log_end_offset, given.last_caught_up_timestamp


def _replica(given: ReplicaState) -> Replica:
    directory = None if given.replica_directory_id == ZERO_UUID else uuid_text(given.replica_directory_id)
    return Replica(given.replica_id, directory, given.log_end_offset, given.last_fetch_timestamp, given.last_caught_up_timestamp)
