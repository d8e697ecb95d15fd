"""Every setting of a broker or controller: Kafka 4.3's, and our own under ``barnabas.``.

One module per subject, each with its ``KEYS``: :data:`SUBJECTS` lists them in the order of the
documentation page, and :data:`BROKER_KEYS` finds a key by its name. :data:`DYNAMIC_ONLY_KEYS` can
be set on a running broker but not in a file.

Invariants: a key is declared in exactly one module, under Kafka's name; only ``own``,
``schema_validation``, ``confluent`` and ``remote_log`` have names that Kafka does not have. Not
here: rules between settings (``config.consistency``) and settings of topics, groups and quotas
(``config.topic_keys`` and its neighbours).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.config.broker_keys import (
    cleaner,
    confluent,
    delegation_tokens,
    groups,
    log,
    metrics,
    network,
    own,
    quotas,
    raft,
    remote_log,
    replication,
    schema_validation,
    security,
    security_sasl,
    security_tls,
    server,
    share,
    streams,
    transactions,
)
from barnabas.config.keys import ConfigKey

__all__ = ["BROKER_KEYS", "DYNAMIC_ONLY_KEYS", "SUBJECTS"]

SUBJECTS: Mapping[str, tuple[ConfigKey, ...]] = MappingProxyType(
    {
        "The node": server.KEYS,
        "Listeners and connections": network.KEYS,
        "Logs": log.KEYS,
        "Compaction": cleaner.KEYS,
        "Replication": replication.KEYS,
        "Controllers and the metadata log": raft.KEYS,
        "Consumer groups": groups.KEYS,
        "Streams groups": streams.KEYS,
        "Share groups": share.KEYS,
        "Producers and transactions": transactions.KEYS,
        "Quotas": quotas.KEYS,
        "Authorization": security.KEYS,
        "TLS": security_tls.KEYS,
        "SASL": security_sasl.KEYS,
        "Delegation tokens": delegation_tokens.KEYS,
        "Metrics": metrics.KEYS,
        "Tiered storage": remote_log.KEYS,
        "Confluent's names": confluent.KEYS,
        "Barnabas' own": (*own.KEYS, *schema_validation.KEYS),
    }
)

BROKER_KEYS: Mapping[str, ConfigKey] = MappingProxyType({key.name: key for keys in SUBJECTS.values() for key in keys})
assert len(BROKER_KEYS) == sum(map(len, SUBJECTS.values())), "a key is declared twice"

DYNAMIC_ONLY_KEYS: Mapping[str, ConfigKey] = MappingProxyType({key.name: key for key in quotas.DYNAMIC_ONLY_KEYS})
