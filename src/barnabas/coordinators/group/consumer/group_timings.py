"""The timings of one group: its own settings or else the broker's, within the bounds of the
broker.
"""

from __future__ import annotations

from barnabas.coordinators.group.settings import GroupSettings, SettingsOfGroup


def session_timeout_ms(own: SettingsOfGroup, broker: GroupSettings) -> int:
    asked = own.get("consumer.session.timeout.ms", broker.consumer_session_timeout_ms)
    return _within(broker.consumer_session_timeout_ms_min, asked, broker.consumer_session_timeout_ms_max)


def heartbeat_interval_ms(own: SettingsOfGroup, broker: GroupSettings) -> int:
    asked = own.get("consumer.heartbeat.interval.ms", broker.consumer_heartbeat_interval_ms)
    return _within(broker.consumer_heartbeat_interval_ms_min, asked, broker.consumer_heartbeat_interval_ms_max)


def assignment_interval_ms(own: SettingsOfGroup, broker: GroupSettings) -> int:
    asked = own.get("consumer.assignment.interval.ms", broker.consumer_assignment_interval_ms)
    return _within(broker.consumer_assignment_interval_ms_min, asked, broker.consumer_assignment_interval_ms_max)


def _within(lowest: int, asked: str | int, highest: int) -> int:
    """The bounds may have been narrowed since the group got its setting."""
    return max(lowest, min(int(asked), highest))
