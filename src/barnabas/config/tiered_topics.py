"""Kafka's rules for a topic's settings of tiered storage, checked when a topic is created and when
its settings change.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.config.kafka_words import invalid_value
from barnabas.config.keys import ConfigError, Value

REMOTE_STORAGE_ENABLE = "remote.storage.enable"
_AS_RETENTION = -2
_NO_LIMIT = -1


def check_tiered_topic(values: Mapping[str, Value], *, was_enabled: bool, system_enabled: bool) -> None:
    """``values`` are all settings of the topic, both its own and those inherited from the
    broker.
    """
    if not values[REMOTE_STORAGE_ENABLE]:
        if was_enabled and not values["remote.log.delete.on.disable"]:
            raise ConfigError(
                "It is invalid to disable remote storage without deleting remote data. To keep it and only read it, set "
                "remote.storage.enable=true,remote.log.copy.disable=true; to delete it, set "
                "remote.storage.enable=false,remote.log.delete.on.disable=true."
            )
        return
    if not system_enabled:
        raise ConfigError("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
    if values["cleanup.policy"] not in ((), ("delete",)):
        raise ConfigError("Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list.")
    for limit in ("retention.bytes", "retention.ms"):
        _check_local(values, limit)


def _check_local(values: Mapping[str, Value], limit: str) -> None:
    whole, local = values[limit], values[f"local.{limit}"]
    assert isinstance(whole, int)
    assert isinstance(local, int)
    if local == _AS_RETENTION:
        return
    if whole > _NO_LIMIT:
        if local == _NO_LIMIT:
            raise ConfigError(
                f"local.{limit} must not be -1, which sets no limit, because {limit} is {whole}.",
                kafka=invalid_value(f"local.{limit}", "-1", f"Value must not be -1 as {limit} value is set as {whole}."),
            )
        if local > whole:
            raise ConfigError(
                f"local.{limit} is {local}, which must not be more than {limit}, {whole}.",
                kafka=invalid_value(f"local.{limit}", str(local), f"Value must not be more than {limit} property value: {whole}"),
            )
    if values["remote.log.copy.disable"] and local != whole:
        raise ConfigError(
            f"When `remote.log.copy.disable` is set to true, the `local.{limit}` and `{limit}` must be set to the identical value "
            "because there will be no more logs copied to the remote storage."
        )
