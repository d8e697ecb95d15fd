"""Producer ids and transactions."""

from __future__ import annotations

from barnabas.config.declare import BOOLEAN, CLUSTER_WIDE, INT, SHORT, ConfigKey, at_least
from barnabas.config.effects import READ_IN_PIECES

KEYS = (
    ConfigKey(
        "producer.id.expiration.ms",
        INT,
        86_400_000,
        "How long a partition remembers an idle producer's last sequence numbers.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
    ),
    ConfigKey(
        "producer.id.expiration.check.interval.ms",
        INT,
        600_000,
        "How often partitions remove idle producers.",
        valid=at_least(1),
        internal=True,
    ),
    ConfigKey(
        "transaction.state.log.num.partitions",
        INT,
        50,
        "How many partitions __transaction_state is created with.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transaction.state.log.replication.factor",
        SHORT,
        3,
        "How many replicas __transaction_state is created with.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transaction.state.log.min.isr",
        INT,
        2,
        "How many replicas must hold a record of __transaction_state.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transaction.state.log.segment.bytes",
        INT,
        104_857_600,
        "The segment size of __transaction_state.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transaction.state.log.load.buffer.size",
        INT,
        5_242_880,
        "How many bytes of __transaction_state are read at a time when a coordinator loads.",
        valid=at_least(1),
        effect=READ_IN_PIECES,
    ),
    ConfigKey(
        "transaction.max.timeout.ms",
        INT,
        900_000,
        "The longest transaction timeout that a producer may ask for.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transaction.partition.verification.enable",
        BOOLEAN,
        True,
        "Whether a write is checked against the coordinator's list of the transaction's partitions.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        10_000,
        "How often transactions that ran out of time are aborted.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        3_600_000,
        "How often idle transactional ids are removed.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transactional.id.expiration.ms",
        INT,
        604_800_000,
        "How long an idle transactional id is kept.",
        valid=at_least(1),
    ),
    ConfigKey(
        "transaction.two.phase.commit.enable",
        BOOLEAN,
        False,
        "Whether producers may take part in two-phase commit, with transactions that never time out.",
    ),
    ConfigKey(
        "add.partitions.to.txn.retry.backoff.ms",
        INT,
        20,
        "How long the broker waits before it tries again to add a partition to a transaction.",
        valid=at_least(1),
    ),
    ConfigKey(
        "add.partitions.to.txn.retry.backoff.max.ms",
        INT,
        100,
        "How long the broker keeps trying to add a partition to a transaction.",
        valid=at_least(0),
    ),
)
