"""The settings of share groups."""

from __future__ import annotations

from barnabas.coordinators.group.bounded_setting import BoundedSetting
from barnabas.model.dataclass import dataclass

_SESSION_TIMEOUT_MS = BoundedSetting("share.session.timeout.ms", 45_000, 45_000, 60_000)
_HEARTBEAT_INTERVAL_MS = BoundedSetting("share.heartbeat.interval.ms", 5_000, 5_000, 15_000)
_ASSIGNMENT_INTERVAL_MS = BoundedSetting("share.assignment.interval.ms", 1_000, 0, 15_000)


@dataclass(frozen=True, slots=True)
class ShareGroupSettings:
    session_timeout_ms: BoundedSetting = _SESSION_TIMEOUT_MS
    heartbeat_interval_ms: BoundedSetting = _HEARTBEAT_INTERVAL_MS
    assignment_interval_ms: BoundedSetting = _ASSIGNMENT_INTERVAL_MS
    initialize_retry_interval_ms: int = 30_000
    """After this time the coordinator repeats a request to initialize state that got no answer."""
    size_max: int = 200
