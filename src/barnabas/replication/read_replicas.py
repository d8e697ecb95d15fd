"""Which replica a consumer should read from (KIP-392): one in its own rack, where the traffic of a
reader costs least.

Only in-sync replicas that have the requested offset are offered. Of several in the rack the one
with the highest end offset is chosen, and the leader whenever it is in the rack itself.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.metadata.cluster import BrokerImage
from barnabas.replication.partition import Partition

RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def preferred_replica(
    partition: Partition, rack: str, offset: int, *, listener: str, broker: Callable[[int], BrokerImage | None]
) -> int | None:
    """The replica to read from; None for the leader, which is this node."""
    leadership = partition.leadership
    own = broker(partition.node_id)
    if leadership is None or not rack or (own is not None and own.rack == rack):
        return None
    best: tuple[int, int, int] | None = None
    for replica, progress in leadership.followers.items():
        if replica not in partition.isr or not progress.log_start_offset <= offset <= progress.log_end_offset:
            continue
        there = broker(replica)
        if there is None or there.fenced or there.rack != rack or there.endpoint(listener) is None:
            continue
        rank = (progress.log_end_offset, progress.caught_up_ms, -replica)
        if best is None or rank > best:
            best = rank
    return -best[2] if best is not None else None
