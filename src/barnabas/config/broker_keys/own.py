"""Settings that Kafka does not have. All begin with ``barnabas.``, so that no future key of Kafka
can collide with them.
"""

from __future__ import annotations

from barnabas.config.addresses import is_address
from barnabas.config.declare import LIST, STRING, ConfigKey, Matching, list_of

_ADDRESS_OR_EMPTY = Matching("empty or host:port", lambda text: not text or is_address(text))

KEYS = (
    ConfigKey(
        "barnabas.prometheus.listener",
        STRING,
        "",
        "The host:port where Prometheus may scrape this node's metrics, with /health and /ready; empty opens none.",
        valid=_ADDRESS_OR_EMPTY,
    ),
    ConfigKey(
        "barnabas.health.listener",
        STRING,
        "",
        "The host:port of /health and /ready alone, for supervisors that must not see the metrics; empty opens none.",
        valid=_ADDRESS_OR_EMPTY,
    ),
    ConfigKey(
        "barnabas.sasl.oauthbearer.allowed.urls",
        LIST,
        (),
        "The URLs that this node may ask for keys and tokens: those of sasl.oauthbearer.*.url must be among them.",
        valid=list_of(),
    ),
    ConfigKey(
        "barnabas.sasl.oauthbearer.allowed.files",
        LIST,
        (),
        "The files that file: URLs of sasl.oauthbearer.*.url may name.",
        valid=list_of(),
    ),
)
