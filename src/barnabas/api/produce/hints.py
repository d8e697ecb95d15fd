"""Leader hints in a response to Produce (KIP-951)."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import LeaderHints, topic_name
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.produce import LeaderIdAndEpoch, NodeEndpoint, ProduceResponse

HINTS_VERSION_MIN = 10


def give_hints(broker: Broker, listener: str, response: ProduceResponse) -> None:
    """Names the leader of every partition that this broker does not lead, and its address."""
    hints = LeaderHints(broker, listener)
    for topic in response.responses:
        for each in topic.partition_responses:
            if each.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                hint = hints.leader_of(topic.name or topic_name(broker, topic.topic_id), each.index)
                if hint is not None:
                    each.current_leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
    response.node_endpoints = [
        NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack) for each in hints.addresses()
    ]
