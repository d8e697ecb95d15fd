"""The settings of the group coordinator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from barnabas.coordinators.group.share.settings import ShareGroupSettings
from barnabas.coordinators.group.streams.settings import StreamsGroupSettings
from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The settings of the broker, which only change with a restart. :class:`SettingsOfGroup` can
    change at run time.
    """

    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    size_max: int = 2**31 - 1
    offset_metadata_bytes_max: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000
    offsets_retention_check_ms: int = 600_000
    consumer_session_timeout_ms: int = 45_000
    consumer_session_timeout_ms_min: int = 45_000
    consumer_session_timeout_ms_max: int = 60_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_heartbeat_interval_ms_min: int = 5_000
    consumer_heartbeat_interval_ms_max: int = 15_000
    consumer_assignment_interval_ms: int = 1_000
    consumer_assignment_interval_ms_min: int = 0
    consumer_assignment_interval_ms_max: int = 15_000
    consumer_size_max: int = 2**31 - 1
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"
    protocols: frozenset[str] = frozenset({"classic", "consumer", "streams"})
    share: ShareGroupSettings = field(default_factory=ShareGroupSettings)
    streams: StreamsGroupSettings = field(default_factory=StreamsGroupSettings)


# The settings made for one group, by Kafka's names (`consumer.session.timeout.ms`).
SettingsOfGroup = Mapping[str, str]
