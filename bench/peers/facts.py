"""What each system does and does not do, durability above all.

The sentences about peers come from their documentation and sources in the pinned versions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """The first four are cells of a table, the sentences follow it."""

    keeps: str
    acknowledges: str
    syncs: str
    replicas: str
    sentences: tuple[str, ...]


_KAFKA_FILES = "files"
_PAGE_CACHE = "page cache"
_MEMORY = "own memory"

FACTS = {
    "barnabas": Facts(
        _KAFKA_FILES,
        _PAGE_CACHE,
        "as `flush.messages` and `flush.ms` say",
        "yes",
        (
            "With acks=all a record is in the page cache of every in-sync replica when it is acknowledged.",
            "Here it is one node, so only the page cache of this machine holds it.",
            "It serves all APIs of Kafka: groups of every kind, transactions, quotas, ACLs.",
        ),
    ),
    "kafka": Facts(
        _KAFKA_FILES,
        _PAGE_CACHE,
        "as `flush.messages` and `flush.ms` say",
        "yes",
        ("The reference: the same promises as Barnabas, and here also one node.",),
    ),
    "kfake-memory": Facts(
        "nothing",
        _MEMORY,
        "never",
        "no",
        (
            "A fake of a cluster for the tests of the Go client franz-go, in one process; further brokers are further ports of it.",
            "It has groups, transactions, ACLs and share groups, and no replication, no quotas that throttle and no tiered storage.",
        ),
    ),
    "kfake-files": Facts(
        "files",
        _PAGE_CACHE,
        "when a segment rolls, and at shutdown",
        "no",
        (
            "The same with its option `DataDir`: batches go to files of its own, which the next start reads again.",
            "`SyncWrites` would sync every batch; it is off here, because Apache Kafka does not do that either.",
        ),
    ),
    "tansu-memory": Facts(
        "nothing",
        _MEMORY,
        "never",
        "no",
        (
            "A broker in Rust without state of its own over a storage engine: PostgreSQL, S3, SQLite or memory.",
            "Brokers do not replicate; durability and failover are those of the storage engine.",
            "Newer versions are called Nisshi, and need a newer Rust than this benchmark expects.",
        ),
    ),
    "tansu-sqlite": Facts(
        "SQLite",
        _PAGE_CACHE,
        "at a checkpoint of SQLite's log",
        "no",
        ("A record is a row of a table, in WAL mode with `synchronous = normal`: a commit is not synced, a checkpoint is.",),
    ),
    "nats-memory": Facts(
        "nothing",
        _MEMORY,
        "never",
        "with a cluster",
        (
            "It does not speak Kafka's protocol: no client of Kafka can use it, so it is a reference for latency only.",
            "A stream has subjects instead of partitions, and there are no transactions over several streams.",
            "A cluster replicates a stream with Raft to up to five servers; here it is one server with one replica.",
        ),
    ),
    "nats-files": Facts(
        "files",
        _PAGE_CACHE,
        "every 2 minutes",
        "with a cluster",
        (
            "The same with file storage, and the default `sync_interval` of 2 minutes.",
            "`sync_interval: always` would sync before each acknowledgement; it is off here, as with the others.",
        ),
    ),
}
