"""The settings of streams groups."""

from __future__ import annotations

from barnabas.coordinators.group.bounded_setting import BoundedSetting
from barnabas.model.dataclass import dataclass

_INT_MAX = 2**31 - 1
_SESSION_TIMEOUT_MS = BoundedSetting("streams.session.timeout.ms", 45_000, 45_000, 60_000)
_HEARTBEAT_INTERVAL_MS = BoundedSetting("streams.heartbeat.interval.ms", 5_000, 5_000, 15_000)
_ASSIGNMENT_INTERVAL_MS = BoundedSetting("streams.assignment.interval.ms", 1_000, 0, 15_000)
_INITIAL_REBALANCE_DELAY_MS = BoundedSetting("streams.initial.rebalance.delay.ms", 3_000, 0, _INT_MAX)
_STANDBY_REPLICAS = BoundedSetting("streams.num.standby.replicas", 0, 0, 2)


@dataclass(frozen=True, slots=True)
class StreamsGroupSettings:
    session_timeout_ms: BoundedSetting = _SESSION_TIMEOUT_MS
    heartbeat_interval_ms: BoundedSetting = _HEARTBEAT_INTERVAL_MS
    assignment_interval_ms: BoundedSetting = _ASSIGNMENT_INTERVAL_MS
    initial_rebalance_delay_ms: BoundedSetting = _INITIAL_REBALANCE_DELAY_MS
    standby_replicas: BoundedSetting = _STANDBY_REPLICAS
    size_max: int = _INT_MAX
