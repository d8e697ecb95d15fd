"""Which settings are secrets. A setting of an unknown name counts as one, as in Kafka: it may be
the password of a plugin."""

from __future__ import annotations

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.parse import MECHANISM_KEYS
from barnabas.config.topic_keys import TOPIC_KEYS

_TABLES = (BROKER_KEYS, DYNAMIC_ONLY_KEYS, TOPIC_KEYS, GROUP_KEYS, CLIENT_METRICS_KEYS)
_LISTENER = "listener.name."


def is_sensitive(name: str) -> bool:
    """For a setting of any kind of resource."""
    if name.startswith(_LISTENER):
        name = name.removeprefix(_LISTENER).partition(".")[2]
        of_mechanism = name.partition(".")[2]
        name = of_mechanism if of_mechanism in MECHANISM_KEYS else name
    key = next((table[name] for table in _TABLES if name in table), None)
    return key is None or key.sensitive
