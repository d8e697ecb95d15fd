"""Settings of Confluent's broker that this one honours, under Confluent's names."""

from __future__ import annotations

from barnabas.config.broker_keys.schema_validation import REGISTRY_URLS, USER_INFO
from barnabas.config.declare import LIST, PASSWORD, STRING, ConfigKey, one_of
from barnabas.config.schema_validation import CONFLUENT_URL, CONFLUENT_USER, CONFLUENT_USER_SOURCE, REGISTRY_URL, REGISTRY_USER

KEYS = (
    ConfigKey(
        CONFLUENT_URL,
        LIST,
        (),
        f"Confluent's name of {REGISTRY_URL}.",
        valid=REGISTRY_URLS,
    ),
    ConfigKey(
        CONFLUENT_USER_SOURCE,
        STRING,
        "USER_INFO",
        f"Where the login at the registry comes from: only from {CONFLUENT_USER}, because clients can read the URL.",
        valid=one_of("USER_INFO"),
    ),
    ConfigKey(
        CONFLUENT_USER,
        PASSWORD,
        None,
        f"Confluent's name of {REGISTRY_USER}.",
        valid=USER_INFO,
    ),
)
