"""Settings of schema validation: the registry, and the limits of the work that it makes."""

from __future__ import annotations

from typing import Final

from barnabas.config.declare import CLUSTER_WIDE, INT, LIST, LONG, PASSWORD, STRING, ConfigKey, ListOf, Matching, at_least, between, one_of
from barnabas.config.http_endpoint import is_http_url
from barnabas.config.schema_validation import (
    ACCEPT,
    CACHE_MS,
    CACHE_SIZE,
    MISSING_MS,
    REFUSE,
    REGISTRY_CA,
    REGISTRY_CERTIFICATE,
    REGISTRY_KEY,
    REGISTRY_KEY_PASSWORD,
    REGISTRY_TOKEN,
    REGISTRY_URL,
    REGISTRY_USER,
    TIMEOUT_MS,
    WAITING_BYTES_MAX,
    WHEN_UNREACHABLE,
)

# DescribeConfigs shows a URL, so it must not have a password in it.
REGISTRY_URLS: Final = ListOf(
    each=Matching("URLs that begin with http:// or https:// and have no login", lambda url: is_http_url(url) and "@" not in url)
)
USER_INFO: Final = Matching("user:password", lambda secret: bool(secret.partition(":")[1]) and secret.isprintable())
_TOKEN: Final = Matching("printable ASCII", lambda secret: secret.isascii() and secret.isprintable())

KEYS = (
    ConfigKey(
        REGISTRY_URL,
        LIST,
        (),
        "The URLs of the schema registry, of which the next is asked when one cannot be reached; empty where no topic is validated.",
        valid=REGISTRY_URLS,
    ),
    ConfigKey(
        REGISTRY_USER,
        PASSWORD,
        None,
        "The login at the schema registry, as user:password.",
        valid=USER_INFO,
    ),
    ConfigKey(
        REGISTRY_TOKEN,
        PASSWORD,
        None,
        "The bearer token for the schema registry, used without a login.",
        valid=_TOKEN,
    ),
    ConfigKey(
        REGISTRY_CA,
        STRING,
        None,
        "A PEM file with the certificates that the schema registry may be signed by; by default the system's.",
    ),
    ConfigKey(
        REGISTRY_CERTIFICATE,
        STRING,
        None,
        "A PEM file with this node's certificate for the schema registry.",
    ),
    ConfigKey(
        REGISTRY_KEY,
        STRING,
        None,
        f"A PEM file with the key of {REGISTRY_CERTIFICATE}.",
    ),
    ConfigKey(
        REGISTRY_KEY_PASSWORD,
        PASSWORD,
        None,
        f"The password of the key of {REGISTRY_CERTIFICATE}.",
    ),
    ConfigKey(
        TIMEOUT_MS,
        INT,
        3000,
        "How long a batch may wait for its validation, the requests to the schema registry included.",
        scope=CLUSTER_WIDE,
        valid=between(1, 60_000),
    ),
    ConfigKey(
        WHEN_UNREACHABLE,
        STRING,
        REFUSE,
        "Whether to refuse a batch, so that its producer retries, or accept it, when its id is unknown and no registry answers.",
        scope=CLUSTER_WIDE,
        valid=one_of(REFUSE, ACCEPT),
    ),
    ConfigKey(
        CACHE_SIZE,
        INT,
        10_000,
        "How many ids of schemas this broker remembers.",
        valid=at_least(1),
    ),
    ConfigKey(
        CACHE_MS,
        LONG,
        300_000,
        "How long this broker uses its knowledge of an id before it asks again; until the answer comes, it uses the old one.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        MISSING_MS,
        LONG,
        1000,
        "How long this broker remembers that an id is unknown to the schema registry, or that none answers.",
        scope=CLUSTER_WIDE,
        valid=at_least(0),
    ),
    ConfigKey(
        WAITING_BYTES_MAX,
        LONG,
        67_108_864,
        "The size of all batches that may wait for their validation; further ones are refused, so that producers retry.",
        scope=CLUSTER_WIDE,
        valid=at_least(1),
    ),
)
