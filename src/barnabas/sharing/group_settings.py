"""The settings of a share group, from the metadata and the broker's own settings.

A group's own setting counts within the bounds of this broker (``group.share.min.*`` and
``group.share.max.*``), as in Kafka; the bounds may have been narrowed since it was made.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import ConfigError, Required, Value
from barnabas.config.later_keys import DEAD_LETTER_COPIES, DEAD_LETTER_TOPIC, RETRY_BACKOFF_MS
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.sharing.core.settings import ShareGroupSettings

_READ_COMMITTED = "read_committed"


def share_group_settings(group_id: str, effective: EffectiveConfigs) -> ShareGroupSettings:
    own = effective.configs.of(ResourceType.GROUP, group_id)
    return ShareGroupSettings(
        lock_duration_ms=_bounded("share.record.lock.duration.ms", own, effective),
        delivery_count_limit=_bounded("share.delivery.count.limit", own, effective),
        record_locks_max=_bounded("share.partition.max.record.locks", own, effective),
        renew_enabled=bool(_value("share.renew.acknowledge.enable", own, effective)),
        read_committed=_value("share.isolation.level", own, effective) == _READ_COMMITTED,
        auto_offset_reset=str(_value("share.auto.offset.reset", own, effective)),
        retry_backoff_ms=_whole(RETRY_BACKOFF_MS, own, effective),
        dead_letter_topic=str(_value(DEAD_LETTER_TOPIC, own, effective)),
        dead_letters_copy=bool(_value(DEAD_LETTER_COPIES, own, effective)),
    )


def _value(name: str, own: Mapping[str, str], effective: EffectiveConfigs) -> Value:
    key = GROUP_KEYS[name]
    if name in own:
        try:
            return key.parse(own[name])
        except ConfigError:
            # A controller of another version accepted it; it counts as not set.
            pass
    if key.synonym is not None:
        return effective.broker[key.synonym]
    assert not isinstance(key.default, Required)
    return key.default


def _whole(name: str, own: Mapping[str, str], effective: EffectiveConfigs) -> int:
    value = _value(name, own, effective)
    assert isinstance(value, int)
    return value


def _bounded(name: str, own: Mapping[str, str], effective: EffectiveConfigs) -> int:
    value = _whole(name, own, effective)
    if name not in own:
        return value
    rest = name.removeprefix("share.")
    lowest, highest = effective.broker[f"group.share.min.{rest}"], effective.broker[f"group.share.max.{rest}"]
    assert isinstance(lowest, int)
    assert isinstance(highest, int)
    return max(lowest, min(value, highest))
