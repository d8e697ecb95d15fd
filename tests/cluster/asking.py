"""Questions to a cluster of which only the bootstrap addresses are known, one socket each. None
means that a leader or coordinator is moving.

librdkafka's admin client would do, but it aborts the process when a coordinator goes away during a
request (2.16).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.cluster.access import Access

ANSWER_SECONDS_MAX = 5.0
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
GROUP_KEY, TRANSACTION_KEY = 0, 1
_LATEST = -1


def ask(access: Access, address: str, request: Any, version: int | None = None) -> Any | None:
    with suppress(OSError), access.connect(address, ANSWER_SECONDS_MAX) as client:
        return client.ask(request, version)
    return None


def ask_any(access: Access, request: Any, version: int | None = None) -> Any | None:
    for address in access.bootstrap.split(","):
        answer = ask(access, address, request, version)
        if answer is not None:
            return answer
    return None


def ask_coordinator(access: Access, key: str, request: Any, version: int | None = None, *, key_type: int = GROUP_KEY) -> Any | None:
    """The answer of the coordinator of a group, or with ``TRANSACTION_KEY`` of a transactional
    id."""
    found = ask_any(access, FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]))
    if found is None or found.coordinators[0].error_code:
        return None
    return ask(access, f"{found.coordinators[0].host}:{found.coordinators[0].port}", request, version)


def end_offsets(access: Access, topic: str, partitions: Sequence[int], isolation_level: int) -> dict[int, int] | None:
    """High watermarks, or last stable offsets when ``isolation_level`` is read committed."""
    described = ask_any(access, MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False))
    if described is None or described.topics[0].error_code:
        return None
    addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in described.brokers}
    led: dict[int, list[int]] = defaultdict(list)
    for each in described.topics[0].partitions:
        if each.partition_index in partitions:
            led[each.leader_id].append(each.partition_index)
    ends: dict[int, int] = {}
    for leader, indexes in led.items():
        asked = [ListOffsetsPartition(partition_index=index, timestamp=_LATEST) for index in indexes]
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation_level, topics=[ListOffsetsTopic(name=topic, partitions=asked)]
        )
        answer = ask(access, addresses[leader], request) if leader in addresses else None
        if answer is None or any(each.error_code for each in answer.topics[0].partitions):
            return None
        ends |= {each.partition_index: each.offset for each in answer.topics[0].partitions}
    return ends if len(ends) == len(partitions) else None
