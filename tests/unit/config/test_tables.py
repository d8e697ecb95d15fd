"""Every key of the tables has a sentence, a valid default, and a reason where it has no effect."""

from __future__ import annotations

import subprocess
import sys

import pytest

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS, SUBJECTS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import REQUIRED, ConfigKey, ConfigType, EffectKind, Scope, Value
from barnabas.config.quota_keys import CLIENT_QUOTA_KEYS, IP_QUOTA_KEYS
from barnabas.config.topic_keys import TOPIC_KEYS, Synonym, topic_defaults

SENTENCE_MAX = 140
PYTHON_TYPES: dict[ConfigType, type | tuple[type, ...]] = {
    ConfigType.BOOLEAN: bool,
    ConfigType.STRING: str,
    ConfigType.INT: int,
    ConfigType.SHORT: int,
    ConfigType.LONG: int,
    ConfigType.DOUBLE: float,
    ConfigType.LIST: tuple,
    ConfigType.CLASS: str,
    ConfigType.PASSWORD: str,
}
ALL: list[ConfigKey] = [
    key
    for table in (
        BROKER_KEYS,
        DYNAMIC_ONLY_KEYS,
        TOPIC_KEYS,
        GROUP_KEYS,
        CLIENT_METRICS_KEYS,
        CLIENT_QUOTA_KEYS,
        IP_QUOTA_KEYS,
    )
    for key in table.values()
]


def test_every_key_has_one_short_sentence() -> None:
    for key in ALL:
        assert key.doc.endswith("."), key.name
        assert len(key.doc) <= SENTENCE_MAX, key.name
        assert ". " not in key.doc, key.name


def test_every_default_has_its_type_and_is_allowed() -> None:
    for key in ALL:
        if key.default is REQUIRED or key.default is None:
            continue
        assert isinstance(key.default, PYTHON_TYPES[key.type]), key.name
        assert key.valid is None or key.valid.allows(key.default), key.name


def test_every_default_survives_being_shown_and_parsed() -> None:
    for key in ALL:
        if key.default is not REQUIRED and key.default is not None:
            assert key.parse(key.render(key.default) or "") == key.default, key.name


def test_every_setting_that_is_not_served_has_a_reason() -> None:
    for key in ALL:
        assert bool(key.effect.reason) == (key.effect.kind is not EffectKind.SERVED), key.name
        assert not key.effect.reason.endswith("."), key.name


def test_secrets_have_no_default() -> None:
    assert all(key.default is None for key in ALL if key.sensitive)


def test_our_own_settings_have_our_prefix_and_kafkas_do_not() -> None:
    # The setting that replaces a class that Kafka would load is declared next to that class.
    assert {"remote.log.storage.url"} == {
        key.name for title, keys in SUBJECTS.items() for key in keys if title == "Tiered storage" and "url" in key.name
    }
    for title, keys in SUBJECTS.items():
        assert all(key.name.startswith("barnabas.") == (title == "Barnabas' own") for key in keys)


@pytest.mark.parametrize(
    "name",
    ["client.quota.callback.class", "principal.builder.class",
     "create.topic.policy.class.name", "remote.log.storage.manager.class.name"],
)  # fmt: skip
def test_settings_that_would_weaken_security_or_semantics_are_refused(name: str) -> None:
    assert BROKER_KEYS[name].effect.kind is EffectKind.REFUSED


def test_scopes_are_kafkas_update_modes() -> None:
    assert BROKER_KEYS["log.dirs"].scope is Scope.READ_ONLY
    assert BROKER_KEYS["listeners"].scope is Scope.PER_BROKER
    assert BROKER_KEYS["message.max.bytes"].scope is Scope.CLUSTER_WIDE


def test_topics_inherit_only_from_settings_that_exist() -> None:
    for key in TOPIC_KEYS.values():
        for synonym in key.synonyms:
            assert BROKER_KEYS[synonym.broker_key].type is key.type or synonym.multiplier > 1 or key.type is ConfigType.LONG


def test_groups_inherit_only_from_settings_that_exist() -> None:
    assert all(key.synonym is None or key.synonym in BROKER_KEYS for key in GROUP_KEYS.values())


def broker(**changes: Value) -> dict[str, Value]:
    defaults: dict[str, Value] = {name: None if key.default is REQUIRED else key.default for name, key in BROKER_KEYS.items()}
    return defaults | {name.replace("_", "."): value for name, value in changes.items()}


@pytest.mark.parametrize(
    ("changes", "retention_ms"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log_retention_hours": 1}, 3_600_000),
        ({"log_retention_hours": 1, "log_retention_minutes": 2}, 120_000),
        ({"log_retention_hours": 1, "log_retention_minutes": 2, "log_retention_ms": 3}, 3),
        ({"log_retention_hours": -5}, -1),
    ],
)
def test_the_finest_unit_that_is_set_decides_retention(changes: dict[str, Value], retention_ms: int) -> None:
    assert topic_defaults(broker(**changes))["retention.ms"] == retention_ms


def test_retention_names_its_synonyms_in_order() -> None:
    assert TOPIC_KEYS["retention.ms"].synonyms == (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", 60_000),
        Synonym("log.retention.hours", 3_600_000),
    )


def test_a_plain_broker_gives_topics_their_documented_defaults() -> None:
    assert topic_defaults(broker()) == {name: key.default for name, key in TOPIC_KEYS.items()}


def test_the_tables_load_without_the_modules_that_only_mistakes_need() -> None:
    probe = (
        "import sys, barnabas.config.broker_keys, barnabas.config.topic_keys; print('difflib' in sys.modules, 'ipaddress' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
