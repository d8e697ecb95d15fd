"""Settings that Kafka does not have. All begin with ``barnabas.``, so that no future key of Kafka
can collide with them.
"""

from __future__ import annotations

from typing import Final

from barnabas.config.addresses import is_address
from barnabas.config.declare import BOOLEAN, INT, LIST, PASSWORD, STRING, ConfigKey, Matching, between, list_of
from barnabas.config.http_endpoint import header_pairs, is_http_url

_ADDRESS_OR_EMPTY = Matching("empty or host:port", lambda text: not text or is_address(text))
_HTTP_URL_OR_EMPTY = Matching("empty or a URL that begins with http:// or https://", lambda text: not text or is_http_url(text))
_HEADERS = Matching("name=value pairs with commas between them", lambda secret: header_pairs(secret) is not None)

AUTO_CREATE_WAIT_MS: Final = "barnabas.auto.create.topics.wait.ms"
DIAL_SILENT_NODES: Final = "barnabas.dial.silent.nodes"

KEYS = (
    ConfigKey(
        DIAL_SILENT_NODES,
        BOOLEAN,
        True,
        "Whether a node whose connection closed is dialled: a refusal means that its process is gone, and its successor need not wait.",
    ),
    ConfigKey(
        AUTO_CREATE_WAIT_MS,
        INT,
        2000,
        "How long Metadata may wait for a topic that it creates; with 0 it has UNKNOWN_TOPIC_OR_PARTITION at once, as with Kafka.",
        valid=between(0, 60_000),
    ),
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
        "barnabas.otlp.endpoint",
        STRING,
        "",
        "The URL that this node pushes its metrics to as OTLP over HTTP, for example http://collector:4318/v1/metrics; empty pushes none.",
        valid=_HTTP_URL_OR_EMPTY,
    ),
    ConfigKey(
        "barnabas.otlp.headers",
        PASSWORD,
        None,
        "Headers for barnabas.otlp.endpoint, as name=value pairs with commas between them, for example for a token.",
        valid=_HEADERS,
    ),
    ConfigKey(
        "barnabas.otlp.interval.ms",
        INT,
        15_000,
        "How often this node pushes its metrics to barnabas.otlp.endpoint.",
        valid=between(100, 3_600_000),
    ),
    ConfigKey(
        "barnabas.client.metrics.otlp.endpoint",
        STRING,
        "",
        "The URL that gets the metrics of clients as OTLP over HTTP, for example http://collector:4318/v1/metrics; empty forwards none.",
        valid=_HTTP_URL_OR_EMPTY,
    ),
    ConfigKey(
        "barnabas.client.metrics.otlp.headers",
        PASSWORD,
        None,
        "Headers for barnabas.client.metrics.otlp.endpoint, as name=value pairs with commas between them, for example for a token.",
        valid=_HEADERS,
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
