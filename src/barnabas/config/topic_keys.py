"""Settings of a topic, and the broker settings that they inherit from.

A topic that does not set a key takes it from the broker. Some keys inherit from several broker
settings, in finer and coarser units: ``retention.ms`` comes from ``log.retention.ms``, else from
``log.retention.minutes``, else from ``log.retention.hours``. The first that has a value wins, and a
:class:`Synonym` has the factor to multiply it by. :func:`topic_defaults` does that for all keys.

Topic settings live in the metadata log and can change at any time: their scope is the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from barnabas.config.declare import (
    BOOLEAN,
    CLUSTER_WIDE,
    CODECS,
    DOUBLE,
    GZIP_LEVELS,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    STRING,
    Matching,
    at_least,
    between,
    list_of,
    one_of,
)
from barnabas.config.effects import FILES_GROW
from barnabas.config.keys import ConfigKey, Required, Value
from barnabas.config.schema_validation import (
    CONFLUENT_PACKAGE,
    LEVELS,
    PARTS,
    STRATEGIES,
    confluent_level_key,
    confluent_strategy_key,
    level_key,
    strategy_key,
)
from barnabas.model.dataclass import dataclass

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker setting that a topic's setting inherits from, and the factor between their units."""

    broker_key: str
    multiplier: int = 1


@dataclass(frozen=True, slots=True)
class TopicKey(ConfigKey):
    """A setting of a topic, with the broker settings that it inherits from, in order of
    precedence.
    """

    synonyms: tuple[Synonym, ...] = ()


def topic_defaults(broker: Mapping[str, Value]) -> dict[str, Value]:
    """The settings of a topic that sets none itself, from a broker's full settings."""
    defaults = {name: _inherited(key, broker) for name, key in TOPIC_KEYS.items()}
    retention_ms = defaults["retention.ms"]
    assert isinstance(retention_ms, int)
    # Brokers accept any negative number of hours or minutes as "forever"; in milliseconds only -1
    # means that.
    defaults["retention.ms"] = max(retention_ms, -1)
    return defaults


def _inherited(key: TopicKey, broker: Mapping[str, Value]) -> Value:
    for synonym in key.synonyms:
        value = broker[synonym.broker_key]
        if value is None:
            continue
        if synonym.multiplier == 1:
            return value
        assert isinstance(value, int)
        return value * synonym.multiplier
    assert not isinstance(key.default, Required)
    return key.default


def _is_throttled_replica(text: str) -> bool:
    partition, colon, broker = text.partition(":")
    return not text or bool(colon and partition.isdecimal() and broker.isdecimal() and text.isascii())


THROTTLED_REPLICAS: Final = Matching(
    "a comma-separated list of partition:broker entries, or *",
    lambda items: items == ("*",) or all(map(_is_throttled_replica, items)),
    "{name} must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
)


def _schema_validation(part: str) -> tuple[TopicKey, ...]:
    """The settings of one part of the records: ``key`` or ``value``."""
    default = STRATEGIES[0]
    return (
        TopicKey(
            confluent_level_key(part),
            BOOLEAN,
            False,
            f"Whether every {part} must carry the id of a schema that is registered for the topic (Confluent's name).",
            scope=CLUSTER_WIDE,
        ),
        TopicKey(
            confluent_strategy_key(part),
            STRING,
            CONFLUENT_PACKAGE + default,
            f"The class that names the subject of a {part}'s schema (Confluent's name).",
            scope=CLUSTER_WIDE,
            valid=one_of(*(CONFLUENT_PACKAGE + name for name in STRATEGIES)),
        ),
        TopicKey(
            level_key(part),
            STRING,
            LEVELS[0],
            f"How the broker checks every {part}: none, by the id of its schema (id), or by decoding it as well (payload).",
            scope=CLUSTER_WIDE,
            valid=one_of(*LEVELS),
        ),
        TopicKey(
            strategy_key(part),
            STRING,
            "",
            f"The strategy that names the subject of a {part}'s schema; empty takes {confluent_strategy_key(part)}.",
            scope=CLUSTER_WIDE,
            valid=Matching(f"empty or one of {', '.join(STRATEGIES)}", lambda name: not name or name in STRATEGIES),
        ),
    )


_KEYS = (
    TopicKey(
        "cleanup.policy",
        LIST,
        ("delete",),
        "How old segments are cleaned up: delete, compact, both, or empty for neither.",
        scope=CLUSTER_WIDE,
        valid=list_of("compact", "delete"),
        synonyms=(Synonym("log.cleanup.policy"),),
    ),
    TopicKey(
        "retention.ms",
        LONG,
        604_800_000,
        "How long a record is kept before its segment may be deleted (the retention policy delete); -1 keeps it forever.",
        scope=CLUSTER_WIDE,
        valid=at_least(-1),
        synonyms=(
            Synonym("log.retention.ms"),
            Synonym("log.retention.minutes", MINUTE_MS),
            Synonym("log.retention.hours", HOUR_MS),
        ),
    ),
    TopicKey(
        "retention.bytes",
        LONG,
        -1,
        "The size beyond which a partition loses its oldest segments; -1 sets no bound.",
        scope=CLUSTER_WIDE,
        synonyms=(Synonym("log.retention.bytes"),),
    ),
    TopicKey(
        "segment.bytes",
        INT,
        1_073_741_824,
        "The size at which a segment is closed and a new one begun.",
        scope=CLUSTER_WIDE,
        valid=at_least(1_048_576),
        synonyms=(Synonym("log.segment.bytes"),),
    ),
    TopicKey(
        "segment.ms",
        LONG,
        604_800_000,
        "The age at which a segment is closed even if it is not full.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonyms=(
            Synonym("log.roll.ms"),
            Synonym("log.roll.hours", HOUR_MS),
        ),
    ),
    TopicKey(
        "segment.jitter.ms",
        LONG,
        0,
        "The maximum random jitter subtracted from segment.ms, so that segments do not roll all at once.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(
            Synonym("log.roll.jitter.ms"),
            Synonym("log.roll.jitter.hours", HOUR_MS),
        ),
    ),
    TopicKey(
        "segment.index.bytes",
        INT,
        10_485_760,
        "The largest an offset index may grow before its segment is closed.",
        scope=CLUSTER_WIDE,
        valid=at_least(4),
        synonyms=(Synonym("log.index.size.max.bytes"),),
    ),
    TopicKey(
        "index.interval.bytes",
        INT,
        4096,
        "How many bytes of log lie between two entries of an offset index.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(Synonym("log.index.interval.bytes"),),
    ),
    TopicKey(
        "internal.segment.bytes",
        INT,
        None,
        "A segment size below the usual minimum; meant for tests.",
        scope=CLUSTER_WIDE,
        internal=True,
    ),
    TopicKey(
        "max.message.bytes",
        INT,
        1_048_588,
        "The largest record batch, after compression, that the topic accepts.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(Synonym("message.max.bytes"),),
    ),
    TopicKey(
        "compression.type",
        STRING,
        "producer",
        "The codec that batches are stored with; producer keeps the codec they came with.",
        scope=CLUSTER_WIDE,
        valid=CODECS,
        synonyms=(Synonym("compression.type"),),
    ),
    TopicKey(
        "compression.gzip.level",
        INT,
        -1,
        "The level used where batches are compressed again with gzip; -1 is the codec's own default.",
        scope=CLUSTER_WIDE,
        valid=GZIP_LEVELS,
        synonyms=(Synonym("compression.gzip.level"),),
    ),
    TopicKey(
        "compression.lz4.level",
        INT,
        9,
        "The level used where batches are compressed again with lz4.",
        scope=CLUSTER_WIDE,
        valid=between(1, 17),
        synonyms=(Synonym("compression.lz4.level"),),
    ),
    TopicKey(
        "compression.zstd.level",
        INT,
        3,
        "The level used where batches are compressed again with zstd.",
        scope=CLUSTER_WIDE,
        valid=between(-131_072, 22),
        synonyms=(Synonym("compression.zstd.level"),),
    ),
    TopicKey(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Which time a record carries: the producer's (CreateTime) or the broker's (LogAppendTime).",
        scope=CLUSTER_WIDE,
        valid=one_of("CreateTime", "LogAppendTime"),
        synonyms=(Synonym("log.message.timestamp.type"),),
    ),
    TopicKey(
        "message.timestamp.before.max.ms",
        LONG,
        LONG_MAX,
        "How far a producer's timestamp may lie behind the broker's clock.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(Synonym("log.message.timestamp.before.max.ms"),),
    ),
    TopicKey(
        "message.timestamp.after.max.ms",
        LONG,
        3_600_000,
        "How far a producer's timestamp may lie ahead of the broker's clock.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(Synonym("log.message.timestamp.after.max.ms"),),
    ),
    TopicKey(
        "errors.deadletterqueue.group.enable",
        BOOLEAN,
        False,
        "Whether share groups may write dead letters to the topic (Kafka 4.4, KIP-1191).",
        scope=CLUSTER_WIDE,
    ),
    TopicKey(
        "flush.messages",
        LONG,
        LONG_MAX,
        "After how many records a partition is synced to disk.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonyms=(Synonym("log.flush.interval.messages"),),
    ),
    TopicKey(
        "flush.ms",
        LONG,
        LONG_MAX,
        "How long a record may stay unsynced.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(
            Synonym("log.flush.interval.ms"),
            Synonym("log.flush.scheduler.interval.ms"),
        ),
    ),
    TopicKey(
        "file.delete.delay.ms",
        LONG,
        60_000,
        "How long a deleted file stays on disk, for readers that are still in it.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(Synonym("log.segment.delete.delay.ms"),),
    ),
    TopicKey(
        "preallocate",
        BOOLEAN,
        False,
        "Whether a new segment reserves its whole size on disk at once.",
        scope=CLUSTER_WIDE,
        effect=FILES_GROW,
        synonyms=(Synonym("log.preallocate"),),
    ),
    TopicKey(
        "min.insync.replicas",
        INT,
        1,
        "How many replicas must hold a record before acks=all is answered.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonyms=(Synonym("min.insync.replicas"),),
    ),
    TopicKey(
        "unclean.leader.election.enable",
        BOOLEAN,
        False,
        "Whether a replica that is not in sync may lead when no other is left, losing records.",
        scope=CLUSTER_WIDE,
        synonyms=(Synonym("unclean.leader.election.enable"),),
    ),
    TopicKey(
        "leader.replication.throttled.replicas",
        LIST,
        (),
        "Replicas whose leaders send no faster than the throttle, as partition:broker entries or *.",
        scope=CLUSTER_WIDE,
        valid=THROTTLED_REPLICAS,
    ),
    TopicKey(
        "follower.replication.throttled.replicas",
        LIST,
        (),
        "Replicas that fetch no faster than the throttle, as partition:broker entries or *.",
        scope=CLUSTER_WIDE,
        valid=THROTTLED_REPLICAS,
    ),
    TopicKey(
        "delete.retention.ms",
        LONG,
        86_400_000,
        "How long a tombstone is kept, so that a slow reader still sees the deletion.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(Synonym("log.cleaner.delete.retention.ms"),),
    ),
    TopicKey(
        "min.compaction.lag.ms",
        LONG,
        0,
        "How long a record is exempt from compaction.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
        synonyms=(Synonym("log.cleaner.min.compaction.lag.ms"),),
    ),
    TopicKey(
        "max.compaction.lag.ms",
        LONG,
        LONG_MAX,
        "How long a record may wait for compaction, regardless of the dirty ratio.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
        synonyms=(Synonym("log.cleaner.max.compaction.lag.ms"),),
    ),
    TopicKey(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        0.5,
        "The share of a log that must be dirty before the log is compacted.",
        scope=CLUSTER_WIDE,
        valid=between(0, 1),
        synonyms=(Synonym("log.cleaner.min.cleanable.ratio"),),
    ),
    TopicKey(
        "remote.storage.enable",
        BOOLEAN,
        False,
        "Whether closed segments move to remote storage.",
        scope=CLUSTER_WIDE,
    ),
    TopicKey(
        "local.retention.ms",
        LONG,
        -2,
        "How long a copied segment also stays on local disk; -2 means as long as retention.ms.",
        scope=CLUSTER_WIDE,
        valid=at_least(-2),
        synonyms=(Synonym("log.local.retention.ms"),),
    ),
    TopicKey(
        "local.retention.bytes",
        LONG,
        -2,
        "How much of a partition stays on local disk once copied; -2 means as much as retention.bytes.",
        scope=CLUSTER_WIDE,
        valid=at_least(-2),
        synonyms=(Synonym("log.local.retention.bytes"),),
    ),
    TopicKey(
        "remote.log.copy.disable",
        BOOLEAN,
        False,
        "Whether copying stops while the copied segments stay readable.",
        scope=CLUSTER_WIDE,
    ),
    TopicKey(
        "remote.log.delete.on.disable",
        BOOLEAN,
        False,
        "Whether turning remote storage off deletes the copied segments.",
        scope=CLUSTER_WIDE,
    ),
    *(key for part in PARTS for key in _schema_validation(part)),
)

TOPIC_KEYS: Mapping[str, TopicKey] = MappingProxyType({key.name: key for key in _KEYS})
