"""Replicas, leaders and how brokers talk to each other."""

from __future__ import annotations

from barnabas.config.declare import BOOLEAN, CLUSTER_WIDE, INT, LONG, STRING, ConfigKey, at_least, one_of
from barnabas.config.effects import SYSTEM_CHOOSES_BUFFERS

KEYS = (
    ConfigKey("default.replication.factor", INT, 1, "How many replicas a topic created automatically gets."),
    ConfigKey(
        "min.insync.replicas",
        INT,
        1,
        "How many replicas must hold a record before acks=all is answered.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        BOOLEAN,
        False,
        "Whether a replica that is not in sync may lead when no other is left, losing records.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "unclean.leader.election.interval.ms",
        LONG,
        300_000,
        "How often the controller looks for partitions without a leader that an unclean election could help.",
        valid=at_least(1),
        internal=True,
    ),
    ConfigKey(
        "auto.leader.rebalance.enable",
        BOOLEAN,
        True,
        "Whether leadership returns to the preferred replica automatically.",
    ),
    ConfigKey(
        "leader.imbalance.check.interval.seconds",
        LONG,
        300,
        "How often the balance of leaders is checked.",
        valid=at_least(1),
    ),
    ConfigKey(
        "replica.lag.time.max.ms",
        LONG,
        30_000,
        "How long a follower may lag before it leaves the in-sync replicas.",
    ),
    ConfigKey(
        "replica.fetch.max.bytes",
        INT,
        1_048_576,
        "How many bytes a follower asks for per partition.",
        valid=at_least(0),
    ),
    ConfigKey(
        "replica.fetch.response.max.bytes",
        INT,
        10_485_760,
        "How many bytes a follower asks for per fetch.",
        valid=at_least(0),
    ),
    ConfigKey(
        "replica.fetch.min.bytes",
        INT,
        1,
        "How many bytes a leader gathers before it answers a follower's fetch.",
    ),
    ConfigKey("replica.fetch.wait.max.ms", INT, 500, "How long a leader may hold a follower's fetch to gather those bytes."),
    ConfigKey(
        "replica.fetch.backoff.ms",
        INT,
        1000,
        "How long a follower waits after a fetch that failed.",
        valid=at_least(0),
    ),
    ConfigKey(
        "replica.socket.timeout.ms",
        INT,
        30_000,
        "How long a follower waits for an answer from its leader: the socket timeout of its network requests.",
    ),
    ConfigKey(
        "replica.socket.receive.buffer.bytes", INT, 65_536, "The receive buffer of a follower's sockets.", effect=SYSTEM_CHOOSES_BUFFERS
    ),
    ConfigKey(
        "replica.high.watermark.checkpoint.interval.ms",
        LONG,
        5000,
        "How often high watermarks are checkpointed.",
    ),
    ConfigKey(
        "num.replica.fetchers",
        INT,
        1,
        "How many connections fetch from each leader.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
    ),
    ConfigKey(
        "num.replica.alter.log.dirs.threads",
        INT,
        None,
        "How many workers move replicas between directories; unset means one per directory.",
    ),
    ConfigKey(
        "controller.socket.timeout.ms",
        INT,
        30_000,
        "How long a request to the controller may take, including those forwarded for clients.",
    ),
    ConfigKey("inter.broker.listener.name", STRING, None, "The listener over which brokers talk to each other."),
    ConfigKey(
        "security.inter.broker.protocol",
        STRING,
        "PLAINTEXT",
        "The security protocol between brokers, where inter.broker.listener.name is not set.",
        valid=one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    ConfigKey(
        "replica.selector.class",
        STRING,
        None,
        "The class that chooses which replica a consumer reads from.",
    ),
    ConfigKey(
        "follower.fetch.last.tiered.offset.enable",
        BOOLEAN,
        False,
        "Whether a new follower skips the offsets that are already in remote storage.",
        scope=CLUSTER_WIDE,
    ),
)
