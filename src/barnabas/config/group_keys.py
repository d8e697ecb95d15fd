"""Settings of one group, which override the broker's for that group.

The bounds here are Kafka's own. A broker narrows them with its ``group.*.min`` and ``group.*.max``
settings; the caller, which has the broker's settings, checks those.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from barnabas.config.declare import BOOLEAN, CLUSTER_WIDE, INT, STRING, Matching, at_least, one_of
from barnabas.config.durations import duration_ms
from barnabas.config.keys import ConfigKey
from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GroupKey(ConfigKey):
    """A setting of a group."""

    synonym: str | None = None
    """The broker setting that applies when the group does not set this one."""


def is_offset_reset(text: str) -> bool:
    strategy, _, duration = text.partition(":")
    if strategy == "by_duration":
        span_ms = duration_ms(duration)
        return span_ms is not None and span_ms >= 0
    return text in ("earliest", "latest")


OFFSET_RESET: Final = Matching(
    "earliest, latest, or by_duration: followed by an ISO-8601 duration",
    is_offset_reset,
    "Invalid value `{value}` for configuration {name}. "
    "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
)

_KEYS = (
    GroupKey(
        "consumer.session.timeout.ms",
        INT,
        45_000,
        "How long a member may go without a heartbeat before it is removed from the consumer group.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonym="group.consumer.session.timeout.ms",
    ),
    GroupKey(
        "consumer.heartbeat.interval.ms",
        INT,
        5000,
        "How often members must send heartbeats.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonym="group.consumer.heartbeat.interval.ms",
    ),
    GroupKey(
        "consumer.assignment.interval.ms",
        INT,
        1000,
        "The minimum time between two assignments.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonym="group.consumer.assignment.interval.ms",
    ),
    GroupKey(
        "share.session.timeout.ms",
        INT,
        45_000,
        "How long a member may go without a heartbeat before it is removed from the share group.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonym="group.share.session.timeout.ms",
    ),
    GroupKey(
        "share.heartbeat.interval.ms",
        INT,
        5000,
        "How often members must send heartbeats.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonym="group.share.heartbeat.interval.ms",
    ),
    GroupKey(
        "share.assignment.interval.ms",
        INT,
        1000,
        "The minimum time between two assignments.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonym="group.share.assignment.interval.ms",
    ),
    GroupKey(
        "share.record.lock.duration.ms",
        INT,
        30_000,
        "How long a member holds the lock on a delivered record before others may get it.",
        scope=CLUSTER_WIDE,
        valid=at_least(1000),
        synonym="group.share.record.lock.duration.ms",
    ),
    GroupKey(
        "share.delivery.count.limit",
        INT,
        5,
        "How many times a record is delivered before it counts as unprocessable.",
        scope=CLUSTER_WIDE,
        valid=at_least(2),
        synonym="group.share.delivery.count.limit",
    ),
    GroupKey(
        "share.partition.max.record.locks",
        INT,
        2000,
        "How many records of a partition may be locked at once.",
        scope=CLUSTER_WIDE,
        valid=at_least(100),
        synonym="group.share.partition.max.record.locks",
    ),
    GroupKey(
        "share.auto.offset.reset",
        STRING,
        "latest",
        "Where a new group begins: earliest, latest, or by_duration: and an ISO-8601 duration back from now.",
        scope=CLUSTER_WIDE,
        valid=OFFSET_RESET,
    ),
    GroupKey(
        "share.isolation.level",
        STRING,
        "read_uncommitted",
        "Whether records of open and aborted transactions are delivered (read_uncommitted) or not (read_committed).",
        scope=CLUSTER_WIDE,
        valid=one_of("read_committed", "read_uncommitted"),
    ),
    GroupKey(
        "share.renew.acknowledge.enable",
        BOOLEAN,
        True,
        "Whether a member may renew its lock on a record.",
        scope=CLUSTER_WIDE,
    ),
    GroupKey(
        "share.retry.backoff.ms",
        INT,
        0,
        "How long a released record stays hidden, doubling with each delivery up to three minutes (Barnabas only).",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    GroupKey(
        "errors.deadletterqueue.topic.name",
        STRING,
        "",
        "The topic for records that are rejected or delivered too often; none if empty (Kafka 4.4, KIP-1191).",
        scope=CLUSTER_WIDE,
    ),
    GroupKey(
        "errors.deadletterqueue.copy.record.enable",
        BOOLEAN,
        False,
        "Whether a dead letter has the key, value and headers of its record (Kafka 4.4, KIP-1191).",
        scope=CLUSTER_WIDE,
    ),
    GroupKey(
        "streams.session.timeout.ms",
        INT,
        45_000,
        "How long a member may go without a heartbeat before it is removed from the streams group.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonym="group.streams.session.timeout.ms",
    ),
    GroupKey(
        "streams.heartbeat.interval.ms",
        INT,
        5000,
        "How often members must send heartbeats.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonym="group.streams.heartbeat.interval.ms",
    ),
    GroupKey(
        "streams.assignment.interval.ms",
        INT,
        1000,
        "The minimum time between two assignments.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonym="group.streams.assignment.interval.ms",
    ),
    GroupKey(
        "streams.num.standby.replicas",
        INT,
        0,
        "How many standby copies of its state each task gets.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonym="group.streams.num.standby.replicas",
    ),
    GroupKey(
        "streams.initial.rebalance.delay.ms",
        INT,
        3000,
        "How long a new group waits for more members before its first assignment.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonym="group.streams.initial.rebalance.delay.ms",
    ),
)

GROUP_KEYS: Mapping[str, GroupKey] = MappingProxyType({key.name: key for key in _KEYS})
