"""Limits of users, clients and addresses. AlterClientQuotas sets them, never a file; unset means no
limit.

Kafka also lists SCRAM credentials among a user's settings; they are credentials, not settings, and
have an API of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from barnabas.config.declare import CLUSTER_WIDE, DOUBLE, INT, INT_MAX, LONG, LONG_MAX, at_least
from barnabas.config.keys import ConfigKey

# Kafka's "no limit" for rates that are doubles is the greatest int.
NO_LIMIT: Final = float(INT_MAX)

_OF_CLIENTS = (
    ConfigKey(
        "producer_byte_rate",
        LONG,
        LONG_MAX,
        "The most bytes a second that may be produced.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "consumer_byte_rate",
        LONG,
        LONG_MAX,
        "The most bytes a second that may be fetched.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "request_percentage",
        DOUBLE,
        NO_LIMIT,
        "The most of one processor, in percent, that requests may use.",
        scope=CLUSTER_WIDE,
    ),
    ConfigKey(
        "controller_mutation_rate",
        DOUBLE,
        NO_LIMIT,
        "The most partitions a second that may be created or deleted.",
        scope=CLUSTER_WIDE,
    ),
)
_OF_ADDRESSES = (
    ConfigKey(
        "connection_creation_rate",
        INT,
        INT_MAX,
        "The most connections a second that an address may open.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
)

CLIENT_QUOTA_KEYS: Mapping[str, ConfigKey] = MappingProxyType({key.name: key for key in _OF_CLIENTS})
IP_QUOTA_KEYS: Mapping[str, ConfigKey] = MappingProxyType({key.name: key for key in _OF_ADDRESSES})
