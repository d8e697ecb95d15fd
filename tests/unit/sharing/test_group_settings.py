from __future__ import annotations

from barnabas.config.parse import parse_broker_config
from barnabas.metadata.configs import ConfigResource, ConfigsImage, ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.group_settings import share_group_settings

NODE = {"node.id": "1", "process.roles": "broker", "controller.quorum.voters": "2@host:1", "controller.listener.names": "C"}


def settings(own: dict[str, str] | None = None, broker: dict[str, str] | None = None) -> ShareGroupSettings:
    configs = ConfigsImage({ConfigResource(ResourceType.GROUP, "g"): own} if own else {})
    return share_group_settings("g", EffectiveConfigs(parse_broker_config({**NODE, **(broker or {})}), configs, 1))


def test_a_group_without_settings_has_the_defaults_of_kafka() -> None:
    assert settings() == ShareGroupSettings()


def test_a_group_inherits_from_the_broker() -> None:
    assert settings(broker={"group.share.record.lock.duration.ms": "20000"}).lock_duration_ms == 20_000


def test_the_own_setting_of_a_group_counts_within_the_bounds_of_the_broker() -> None:
    own = {"share.delivery.count.limit": "9", "share.isolation.level": "read_committed", "share.retry.backoff.ms": "250"}
    found = settings(own)
    assert (found.delivery_count_limit, found.read_committed, found.retry_backoff_ms) == (9, True, 250)
    assert settings(own, {"group.share.max.delivery.count.limit": "7"}).delivery_count_limit == 7


def test_a_setting_that_cannot_be_read_counts_as_not_set() -> None:
    assert settings({"share.record.lock.duration.ms": "long"}).lock_duration_ms == 30_000


def test_a_group_has_dead_letters_if_it_names_a_topic_for_them() -> None:
    assert not settings().dead_letters
    assert settings({"errors.deadletterqueue.topic.name": "dlq.g"}).dead_letters
