"""DescribeConfigs."""

from __future__ import annotations

import re

import pytest

from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.conformance.differential.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SET,
    TOPIC,
    UNKNOWN,
    Change,
    altered,
    describing,
)
from tests.conformance.differential.pair import Pair

KIND = {TOPIC: "topic", BROKER: "broker", BROKER_LOGGER: "logger", CLIENT_METRICS: "client metrics", GROUP: "group"}


@pytest.mark.parametrize("docs", [False, True], ids=["", "with docs"])
@pytest.mark.parametrize("synonyms", [False, True], ids=["", "with synonyms"])
def test_describe_configs_shows_all_settings_of_a_topic(pair: Pair, synonyms: bool, docs: bool) -> None:
    name = f"described-{synonyms}-{docs}"
    own = {"cleanup.policy": "compact", "retention.ms": "5", "min.compaction.lag.ms": " 7 ", "segment.bytes": "2000000"}
    pair.create(name, configs=own)
    pair.same(describing((TOPIC, name), synonyms=synonyms, docs=docs))


@pytest.mark.parametrize("docs", [False, True], ids=["", "with docs"])
def test_describe_configs_shows_all_settings_of_a_broker(pair: Pair, docs: bool) -> None:
    pair.same(describing((BROKER, "1"), docs=docs))
    pair.same(describing((BROKER, "1"), synonyms=False))


def test_describe_configs_shows_dynamic_settings_among_the_synonyms(pair: Pair) -> None:
    pair.create("chained", configs={"retention.ms": "5"})
    everything = describing((TOPIC, "chained"), (BROKER, "1"), (BROKER, ""))
    with altered(pair, BROKER, "", ("log.retention.ms", SET, "777000"), ("log.cleaner.threads", SET, "1"), ("log.roll.ms", SET, "6000")):
        pair.same(everything)
        with altered(pair, BROKER, "1", ("log.retention.ms", SET, "888000"), ("message.max.bytes", SET, "2000000")):
            pair.same(everything)
            pair.create("chained-later")
            pair.same(describing((TOPIC, "chained-later")))
    pair.same(everything)


@pytest.mark.parametrize("kind", [GROUP, CLIENT_METRICS], ids=KIND.get)
def test_describe_configs_shows_settings_of_groups_and_client_metrics(pair: Pair, kind: int) -> None:
    pair.same(describing((kind, "somebody"), docs=True))
    changes: dict[int, list[Change]] = {
        GROUP: [("consumer.session.timeout.ms", SET, "50000"), ("share.isolation.level", SET, "read_committed")],
        CLIENT_METRICS: [("interval.ms", SET, "1000"), ("metrics", SET, "a.b,c"), ("match", SET, "client_id=a.*")],
    }
    with altered(pair, kind, "somebody", *changes[kind]):
        pair.same(describing((kind, "somebody")))
        pair.same(ListConfigResourcesRequest(resource_types=[kind]))
    pair.same(describing((kind, "somebody")))


DESCRIBED: list[tuple[int, str]] = [
    *((TOPIC, name) for name in ("missing", "a b", "", "..")),
    *((BROKER, name) for name in ("2", "x", "-1", "01", " 1")),
    *((BROKER_LOGGER, name) for name in ("", "2", "x")),
    *((kind, "") for kind in (GROUP, CLIENT_METRICS)),
    *((kind, "1") for kind in (UNKNOWN, 1, 3, 64, -1)),
]


@pytest.mark.parametrize("resource", DESCRIBED, ids=str)
def test_describe_configs_refuses_unknown_resources(pair: Pair, resource: tuple[int, str]) -> None:
    pair.same(describing(resource))


def test_describe_configs_shows_only_the_named_settings(pair: Pair) -> None:
    pair.create("single")
    for keys in (["retention.ms"], ["retention.ms", "cleanup.policy"], ["no.such.setting"], ["retention.ms", "retention.ms"], []):
        pair.same(describing((TOPIC, "single"), (BROKER, "1"), (GROUP, "g"), keys=keys))
    pair.same(describing((BROKER, "1"), keys=["log.retention.ms", "advertised.listeners", "ssl.keystore.password", "num.partitions"]))


def test_describe_configs_takes_repeated_resources_and_none(pair: Pair) -> None:
    pair.same(describing())
    pair.same(describing((GROUP, "a"), (GROUP, "a"), (TOPIC, "missing")))


def test_describe_configs_is_answered_by_controllers(pair: Pair) -> None:
    pair.create("at-controller")
    pair.same(describing((TOPIC, "at-controller"), (TOPIC, "missing")), to_controller=True)
    pair.same(describing((BROKER, "1"), keys=["num.partitions", "log.retention.ms"]), to_controller=True)
    pair.same(describing((BROKER, "")), to_controller=True)


def subjects(documentation: str) -> set[str]:
    """The beginnings of its longer words: "retain" and "retention" are about the same."""
    return {word[:4] for word in re.findall(r"[a-z]{4,}", documentation.lower())}


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "documented"), (BROKER, "1"), (GROUP, "g"), (CLIENT_METRICS, "m")])
def test_describe_configs_documents_every_setting_with_a_word_of_kafkas_documentation(pair: Pair, kind: int, name: str) -> None:
    """The sentences are ours, and a user who knows Kafka's recognises the setting by them."""
    if kind == TOPIC:
        pair.create(name)
    described = [pair.ask(peer, describing((kind, name), docs=True), 4).results[0].configs for peer in pair.peers]
    kafka, barnabas = ({each.name: each.documentation for each in configs} for configs in described)
    foreign = [key for key, text in kafka.items() if text and key in barnabas and not subjects(text) & subjects(barnabas[key])]
    assert foreign == []
