"""The quorum as its leader sees it: voters, observers, and the lag of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid, uuid_text
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    ResponsePartitionData,
    TopicData,
)

_METADATA_TOPIC = "__cluster_metadata"
_CONTROLLERS = 2  # DescribeCluster's endpoint type
_UNKNOWN = -1


class Quorum(NamedTuple):
    partition: ResponsePartitionData
    # By node, as NAME://host:port; brokers before Kafka 3.9 do not report them.
    endpoints: dict[int, list[str]]

    @property
    def leader(self) -> ReplicaState | None:
        return next((each for each in self.partition.current_voters if each.replica_id == self.partition.leader_id), None)


def describe_quorum(brokers: Brokers) -> Quorum:
    request = DescribeQuorumRequest(topics=[TopicData(topic_name=_METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])])
    response: DescribeQuorumResponse = brokers.ask_controller(
        request,
        codes=lambda response: [response.error_code, *(each.error_code for topic in response.topics for each in topic.partitions)],
    )
    doing = "Cannot describe the quorum"
    refuse_error(response.error_code, response.error_message, doing)
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    if len(partitions) != 1:
        raise Refused(f"{doing}: the answer is about {len(partitions)} partitions.")
    refuse_error(partitions[0].error_code, partitions[0].error_message, doing)
    endpoints = {
        node.node_id: [f"{listener.name}://{bracketed(listener.host)}:{listener.port}" for listener in node.listeners]
        for node in response.nodes
    }
    return Quorum(partitions[0], endpoints)


def cluster_id(brokers: Brokers) -> str:
    def codes(response: DescribeClusterResponse) -> list[int]:
        return [response.error_code]

    request = DescribeClusterRequest(include_cluster_authorized_operations=False)
    response: DescribeClusterResponse = brokers.ask_controller(request, codes=codes)
    if response.error_code in (ErrorCode.MISMATCHED_ENDPOINT_TYPE, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE):
        request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=_CONTROLLERS)
        response = brokers.ask_controller(request, codes=codes)
    refuse_error(response.error_code, response.error_message, "Cannot ask for the cluster's id")
    return response.cluster_id


def replication_rows(quorum: Quorum) -> list[dict[str, Any]]:
    """The leader first, then the other voters, then the observers."""
    leader_id = quorum.partition.leader_id
    voters = sorted(quorum.partition.current_voters, key=lambda each: (each.replica_id != leader_id, each.replica_id))
    observers = sorted(quorum.partition.observers, key=lambda each: each.replica_id)
    statuses = ["leader" if each.replica_id == leader_id else "follower" for each in voters] + ["observer"] * len(observers)
    end = quorum.leader.log_end_offset if quorum.leader is not None else None
    return [
        {
            "node": each.replica_id,
            "directory_id": None if each.replica_directory_id == ZERO_UUID else uuid_text(each.replica_directory_id),
            "endpoints": quorum.endpoints.get(each.replica_id, []),
            "log_end_offset": each.log_end_offset,
            # A node that never fetched has no offset, and so no lag.
            "lag": None if end is None or each.log_end_offset == _UNKNOWN else end - each.log_end_offset,
            "last_fetch_ms": _known(each.last_fetch_timestamp),
            "last_caught_up_ms": _known(each.last_caught_up_timestamp),
            "status": status,
        }
        for each, status in zip([*voters, *observers], statuses, strict=True)
    ]


def status_of(quorum: Quorum, rows: list[dict[str, Any]], cluster_id: str) -> dict[str, Any]:
    followers = [row for row in rows if row["status"] == "follower"]
    by_node = sorted(rows, key=lambda row: row["node"])
    identity = ("node", "directory_id", "endpoints")
    return {
        "cluster_id": cluster_id,
        "leader": quorum.partition.leader_id,
        "epoch": quorum.partition.leader_epoch,
        "high_watermark": quorum.partition.high_watermark,
        "follower_lag_max": _greatest(row["lag"] for row in followers),
        "follower_lag_ms_max": _greatest(_lag_ms(rows[0], row) for row in followers),
        "voters": [{name: row[name] for name in identity} for row in by_node if row["status"] != "observer"],
        "observers": [{name: row[name] for name in identity} for row in by_node if row["status"] == "observer"],
    }


def _lag_ms(leader: dict[str, Any], follower: dict[str, Any]) -> int | None:
    if follower["lag"] == 0:
        return 0
    if leader["last_caught_up_ms"] is None or follower["last_caught_up_ms"] is None:
        return None
    lag: int = max(leader["last_caught_up_ms"] - follower["last_caught_up_ms"], 0)
    return lag


def _greatest(lags: Iterable[int | None]) -> int | None:
    """None when one of them is unknown: it may be the greatest."""
    known: list[int] = []
    for lag in lags:
        if lag is None:
            return None
        known.append(lag)
    return max(known, default=0)


def directory_of(quorum: Quorum, voter: int) -> Uuid:
    found = [each.replica_directory_id for each in quorum.partition.current_voters if each.replica_id == voter]
    if not found:
        voters = ", ".join(str(each.replica_id) for each in quorum.partition.current_voters)
        raise Refused(f"Node {voter} is not a voter; the voters are {voters}.")
    if len(found) > 1:
        raise Refused(f"There are {len(found)} voters {voter}, so choose one with --directory-id: {', '.join(map(uuid_text, found))}.")
    return found[0]


def _known(number: int) -> int | None:
    return None if number == _UNKNOWN else number


def bracketed(host: str) -> str:
    """A host in an address: IPv6 hosts contain colons and need brackets."""
    return f"[{host}]" if ":" in host else host
