"""Compaction, which Kafka's settings call the log cleaner."""

from __future__ import annotations

from barnabas.config.declare import BOOLEAN, CLUSTER_WIDE, DOUBLE, DOUBLE_MAX, INT, LONG, LONG_MAX, ConfigKey, at_least, between
from barnabas.config.effects import CLEANED_IN_PIECES

KEYS = (
    ConfigKey("log.cleaner.enable", BOOLEAN, True, "Whether compacted topics are compacted at all."),
    ConfigKey(
        "log.cleaner.threads",
        INT,
        1,
        "How many workers compact (the background threads of Kafka's log cleaner).",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "log.cleaner.io.max.bytes.per.second",
        DOUBLE,
        DOUBLE_MAX,
        "The most bytes a second that compaction reads and writes together.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.dedupe.buffer.size",
        LONG,
        134_217_728,
        "The memory that all workers share to remember the last offset of each key.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.io.buffer.size",
        INT,
        524_288,
        "The memory that all workers share for reading and writing.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        effect=CLEANED_IN_PIECES,
    ),
    ConfigKey(
        "log.cleaner.io.buffer.load.factor",
        DOUBLE,
        0.9,
        "How full the memory for keys may get before a pass ends.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.backoff.ms",
        LONG,
        15_000,
        "How long a worker sleeps when no log needs compaction.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "log.cleaner.min.cleanable.ratio",
        DOUBLE,
        0.5,
        "The share of a log that must be dirty before the log is compacted.",
        scope=CLUSTER_WIDE,
        valid=between(0, 1),
    ),
    ConfigKey(
        "log.cleaner.delete.retention.ms",
        LONG,
        86_400_000,
        "How long a tombstone is kept, so that a slow reader still sees the deletion.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "log.cleaner.min.compaction.lag.ms",
        LONG,
        0,
        "How long a record is exempt from compaction.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        "log.cleaner.max.compaction.lag.ms",
        LONG,
        LONG_MAX,
        "How long a record may wait for compaction, regardless of the dirty ratio.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
    ),
)
