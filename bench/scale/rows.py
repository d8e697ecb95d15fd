"""All rows, in the order of the page."""

from __future__ import annotations

from bench.scale.connections import BUSY_CONNECTIONS, IDLE_CONNECTIONS
from bench.scale.failover import FAILOVER
from bench.scale.groups import GROUPS
from bench.scale.members import CLASSIC_MEMBERS, CONSUMER_MEMBERS
from bench.scale.offsets import OFFSETS
from bench.scale.partitions import PARTITIONS
from bench.scale.producers import PRODUCERS
from bench.scale.topics import TOPICS

ALL = (
    PARTITIONS,
    FAILOVER,
    TOPICS,
    IDLE_CONNECTIONS,
    BUSY_CONNECTIONS,
    GROUPS,
    CLASSIC_MEMBERS,
    CONSUMER_MEMBERS,
    OFFSETS,
    PRODUCERS,
)
