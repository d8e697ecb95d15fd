"""Settings of a client-metrics subscription (KIP-714): which clients push which metrics, and how
often.

Kafka's ConfigDef has no bounds for them; the bounds here are those that AlterConfigs checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from barnabas.config.declare import CLUSTER_WIDE, INT, LIST, ListOf, Matching, between, list_of
from barnabas.config.keys import ConfigKey
from barnabas.model.pattern import matcher

INTERVAL_MS: Final = "interval.ms"
MATCH: Final = "match"
INTERVAL_MS_DEFAULT: Final = 300_000
MATCHES: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def split_match(text: str) -> tuple[str, str] | None:
    """The name and the regular expression of an entry of ``match``; None for an invalid entry.

    Kafka splits at every equals sign and ignores those at the end.
    """
    name, equals, pattern = text.rstrip("=").partition("=")
    if not equals or "=" in pattern or name.strip() not in MATCHES:
        return None
    return name.strip(), pattern.strip()


def why_no_match(text: str) -> str | None:
    """The reason why an entry is invalid; None for a valid one.

    Every request of a client may be matched against the expression, so it is one of RE2
    (:mod:`barnabas.model.pattern`).
    """
    entry = split_match(text)
    if entry is None:
        return f"it is not name=regular expression with one of {', '.join(MATCHES)}"
    found = matcher(entry[1])
    return found if isinstance(found, str) else None


def is_match(text: str) -> bool:
    return why_no_match(text) is None


_KEYS = (
    ConfigKey(
        "metrics",
        LIST,
        (),
        "The metrics to push, as prefixes of their names; * means all.",
        scope=CLUSTER_WIDE,
        valid=list_of(),
    ),
    ConfigKey(
        INTERVAL_MS,
        INT,
        INTERVAL_MS_DEFAULT,
        "How often clients push their metrics.",
        scope=CLUSTER_WIDE,
        valid=between(100, 3_600_000),
    ),
    ConfigKey(
        MATCH,
        LIST,
        (),
        "The clients that push metrics, as name=regular expression entries that must all match.",
        scope=CLUSTER_WIDE,
        valid=ListOf(each=Matching("name=regular expression entries", is_match, "Illegal client matching pattern: {value}")),
    ),
)

CLIENT_METRICS_KEYS: Mapping[str, ConfigKey] = MappingProxyType({key.name: key for key in _KEYS})
