"""Combinations of a topic's settings of tiered storage."""

from __future__ import annotations

import pytest

from barnabas.config.keys import ConfigError, Value
from barnabas.config.tiered_topics import check_tiered_topic
from barnabas.config.topic_keys import TOPIC_KEYS

DEFAULTS = {name: key.default for name, key in TOPIC_KEYS.items()}


def check(*, was_enabled: bool = False, system_enabled: bool = True, **changes: Value) -> None:
    values = {**DEFAULTS, **{name.replace("_", "."): value for name, value in changes.items()}}
    check_tiered_topic(values, was_enabled=was_enabled, system_enabled=system_enabled)  # type: ignore[arg-type]


def refusal(**changes: Value) -> str:
    with pytest.raises(ConfigError) as refused:
        check(**changes)  # type: ignore[arg-type]
    return str(refused.value)


def test_a_topic_that_is_not_tiered_passes_every_rule() -> None:
    check(system_enabled=False, cleanup_policy=("compact",), local_retention_ms=10**15)


def test_a_tiered_topic_needs_remote_storage_enabled_on_the_broker() -> None:
    check(remote_storage_enable=True)
    assert "disabled in the broker" in refusal(remote_storage_enable=True, system_enabled=False)


@pytest.mark.parametrize("policy", [("compact",), ("compact", "delete")])
def test_a_compacted_topic_is_not_tiered(policy: tuple[str, ...]) -> None:
    assert "cleanup.policy" in refusal(remote_storage_enable=True, cleanup_policy=policy)
    check(remote_storage_enable=True, cleanup_policy=())


def test_local_retention_must_not_exceed_total_retention() -> None:
    check(remote_storage_enable=True, retention_ms=1000, local_retention_ms=1000)
    check(remote_storage_enable=True, retention_ms=-1, local_retention_ms=-1)
    assert "must not be more than" in refusal(remote_storage_enable=True, retention_ms=1000, local_retention_ms=1001)
    assert "must not be -1" in refusal(remote_storage_enable=True, retention_bytes=1000, local_retention_bytes=-1)


def test_disabling_remote_storage_must_delete_the_remote_data() -> None:
    assert "without deleting remote data" in refusal(was_enabled=True)
    check(was_enabled=True, remote_log_delete_on_disable=True)


def test_with_copying_disabled_local_retention_must_equal_total_retention() -> None:
    check(remote_storage_enable=True, remote_log_copy_disable=True)
    check(remote_storage_enable=True, remote_log_copy_disable=True, retention_ms=5, local_retention_ms=5)
    assert "identical" in refusal(remote_storage_enable=True, remote_log_copy_disable=True, retention_ms=5, local_retention_ms=4)
