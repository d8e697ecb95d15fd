"""One key: the values it accepts, and the error for all others."""

from __future__ import annotations

import pytest

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import ConfigError, ConfigKey, ConfigType
from barnabas.config.topic_keys import TOPIC_KEYS
from barnabas.config.validators import Matching


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("num.partitions", "0", "num.partitions must be a 32-bit integer of at least 1, but is '0'."),
        ("num.partitions", "many", "num.partitions must be a 32-bit integer of at least 1, but is 'many'."),
        ("auto.create.topics.enable", "yes", "auto.create.topics.enable must be true or false, but is 'yes'."),
        ("compression.gzip.level", "0", "compression.gzip.level must be a 32-bit integer between 1 and 9, or -1, but is '0'."),
        ("log.segment.bytes", "1", "log.segment.bytes must be a 32-bit integer of at least 1048576, but is '1'."),
        ("log.cleaner.min.cleanable.ratio", "2", "log.cleaner.min.cleanable.ratio must be a number between 0 and 1, but is '2'."),
        ("ssl.client.auth", "maybe", "ssl.client.auth must be one of required, requested, none, but is 'maybe'."),
        ("log.cleanup.policy", "keep", "log.cleanup.policy must be a comma-separated list of compact, delete, but is 'keep'."),
        ("listeners", "", "listeners must be a comma-separated list that is not empty, but is ''."),
        (
            "controller.quorum.voters",
            "1@host",
            "controller.quorum.voters must be a comma-separated list of id@host:port entries, but is '1@host'.",
        ),
    ],
)
def test_a_refusal_names_the_key_the_value_and_what_was_expected(name: str, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        BROKER_KEYS[name].parse(text)
    assert str(refusal.value) == sentence


def test_an_item_given_twice_counts_once() -> None:
    assert BROKER_KEYS["log.dirs"].parse("/a,/b,/a") == ("/a", "/b")


def test_choices_in_any_case_keep_the_case_they_were_given() -> None:
    assert BROKER_KEYS["group.consumer.migration.policy"].parse("Upgrade") == "Upgrade"


def test_the_default_gzip_level_lies_outside_the_range_and_is_allowed() -> None:
    assert BROKER_KEYS["compression.gzip.level"].parse("-1") == -1


def test_throttled_replicas_are_pairs_or_a_star() -> None:
    key = TOPIC_KEYS["leader.replication.throttled.replicas"]
    assert key.parse("*") == ("*",)
    assert key.parse("0:1, 2:3") == ("0:1", "2:3")
    with pytest.raises(ConfigError):
        key.parse("0:1,*")


def test_a_share_group_may_begin_a_duration_before_now() -> None:
    key = GROUP_KEYS["share.auto.offset.reset"]
    assert key.parse("by_duration:PT1H") == "by_duration:PT1H"
    with pytest.raises(ConfigError, match=r"must be earliest, latest, or by_duration: .* but is 'by_duration:-PT1H'"):
        key.parse("by_duration:-PT1H")


def test_only_secrets_are_sensitive() -> None:
    assert BROKER_KEYS["ssl.key.password"].sensitive
    assert BROKER_KEYS["ssl.key.password"].render("secret") == "[hidden]"
    assert not BROKER_KEYS["ssl.keystore.location"].sensitive


def test_a_refusal_in_a_response_begins_with_kafkas_words() -> None:
    with pytest.raises(ConfigError) as refusal:
        BROKER_KEYS["num.partitions"].parse("many")
    assert refusal.value.response_text == (
        "Invalid value many for configuration num.partitions: Not a number of type INT. "
        "num.partitions must be a 32-bit integer of at least 1, but is 'many'."
    )


def test_a_refusal_never_shows_a_secret() -> None:
    key = ConfigKey("password", ConfigType.PASSWORD, None, "A secret.", valid=Matching("long", lambda _: False))
    with pytest.raises(ConfigError) as refusal:
        key.parse("hunter2")
    assert "hunter2" not in refusal.value.response_text
