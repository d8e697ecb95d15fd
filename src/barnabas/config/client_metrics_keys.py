"""Settings of a client-metrics subscription (KIP-714): which clients push which metrics, and how
often.

Kafka's ConfigDef has no bounds for them; the bounds here are those that AlterConfigs checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from barnabas.config.declare import CLUSTER_WIDE, INT, LIST, ListOf, Matching, between, list_of
from barnabas.config.effects import WITH_CLIENT_METRICS
from barnabas.config.keys import ConfigKey

INTERVAL_MS: Final = "interval.ms"
MATCHES: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def is_match(text: str) -> bool:
    name, equals, pattern = text.rstrip("=").partition("=")
    if not equals or "=" in pattern or name.strip() not in MATCHES:
        return False
    try:
        re.compile(pattern.strip())
    except re.error:
        return False
    return True


_KEYS = (
    ConfigKey(
        "metrics",
        LIST,
        (),
        "The metrics to push, as prefixes of their names; * means all.",
        scope=CLUSTER_WIDE,
        valid=list_of(),
        effect=WITH_CLIENT_METRICS,
    ),
    ConfigKey(
        INTERVAL_MS,
        INT,
        300_000,
        "How often clients push their metrics.",
        scope=CLUSTER_WIDE,
        valid=between(100, 3_600_000),
        effect=WITH_CLIENT_METRICS,
    ),
    ConfigKey(
        "match",
        LIST,
        (),
        "The clients that push metrics, as name=regular expression entries that must all match.",
        scope=CLUSTER_WIDE,
        valid=ListOf(each=Matching("name=regular expression entries", is_match)),
        effect=WITH_CLIENT_METRICS,
    ),
)

CLIENT_METRICS_KEYS: Mapping[str, ConfigKey] = MappingProxyType({key.name: key for key in _KEYS})
