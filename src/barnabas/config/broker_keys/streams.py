"""Streams groups (KIP-1071)."""

from __future__ import annotations

from barnabas.config.declare import CLUSTER_WIDE, INT, INT_MAX, ConfigKey, at_least

KEYS = (
    ConfigKey(
        "group.streams.session.timeout.ms",
        INT,
        45_000,
        "How long a streams member may go without a heartbeat before it is removed.",
        valid=at_least(1),
    ),
    ConfigKey(
        "group.streams.min.session.timeout.ms",
        INT,
        45_000,
        "The lower bound of a group's own streams.session.timeout.ms.",
        valid=at_least(1),
    ),
    ConfigKey(
        "group.streams.max.session.timeout.ms",
        INT,
        60_000,
        "The upper bound of a group's own streams.session.timeout.ms.",
        valid=at_least(1),
    ),
    ConfigKey(
        "group.streams.heartbeat.interval.ms",
        INT,
        5000,
        "How often streams members must send heartbeats.",
        valid=at_least(1),
    ),
    ConfigKey(
        "group.streams.min.heartbeat.interval.ms",
        INT,
        5000,
        "The lower bound of a group's own streams.heartbeat.interval.ms.",
        valid=at_least(1),
    ),
    ConfigKey(
        "group.streams.max.heartbeat.interval.ms",
        INT,
        15_000,
        "The upper bound of a group's own streams.heartbeat.interval.ms.",
        valid=at_least(1),
    ),
    ConfigKey(
        "group.streams.max.size",
        INT,
        INT_MAX,
        "How many members a streams group may have.",
        valid=at_least(1),
    ),
    ConfigKey(
        "group.streams.num.standby.replicas",
        INT,
        0,
        "How many standby copies of its state each task gets.",
        valid=at_least(0),
    ),
    ConfigKey(
        "group.streams.max.standby.replicas",
        INT,
        2,
        "The upper bound of a group's own streams.num.standby.replicas.",
        valid=at_least(0),
    ),
    ConfigKey(
        "group.streams.initial.rebalance.delay.ms",
        INT,
        3000,
        "How long a new streams group waits for more members before its first assignment.",
        valid=at_least(0),
    ),
    ConfigKey(
        "group.streams.assignment.interval.ms",
        INT,
        1000,
        "The minimum time between two assignments of a streams group.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "group.streams.min.assignment.interval.ms",
        INT,
        0,
        "The lower bound of a group's own streams.assignment.interval.ms.",
        valid=at_least(0),
    ),
    ConfigKey(
        "group.streams.max.assignment.interval.ms",
        INT,
        15_000,
        "The upper bound of a group's own streams.assignment.interval.ms.",
        valid=at_least(0),
    ),
)
