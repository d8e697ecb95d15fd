"""AlterConfigs, which replaces all settings of a resource."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages import alter_configs as replacing
from tests.conformance.differential.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    UNKNOWN,
    describing,
)
from tests.conformance.differential.pair import Pair


def replacing_all(*resources: tuple[int, str, list[tuple[str, str | None]]], dry: bool = False) -> replacing.AlterConfigsRequest:
    return replacing.AlterConfigsRequest(
        resources=[
            replacing.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[replacing.AlterableConfig(name=key, value=value) for key, value in values],
            )
            for kind, name, values in resources
        ],
        validate_only=dry,
    )


REPLACEMENTS: list[tuple[str, list[tuple[str, str | None]]]] = [
    ("one", [("retention.ms", "1000")]),
    ("another", [("segment.ms", "1000")]),
    ("nothing", []),
    ("null", [("retention.ms", None)]),
    ("nonsense", [("retention.ms", "soon")]),
    ("unknown", [("no.such", "1")]),
    ("twice", [("retention.ms", "1"), ("retention.ms", "2")]),
]


@pytest.mark.parametrize(("what", "values"), REPLACEMENTS, ids=[what for what, _ in REPLACEMENTS])
def test_alter_configs_replaces_all_settings(pair: Pair, what: str, values: list[tuple[str, str | None]]) -> None:
    name = f"replaced-{[each for each, _ in REPLACEMENTS].index(what)}"
    pair.create(name, configs={"retention.ms": "4", "cleanup.policy": "compact"})
    pair.same(replacing_all((TOPIC, name, values), dry=True))
    pair.soon_same(describing((TOPIC, name)), [4])
    pair.same(replacing_all((TOPIC, name, values)))
    pair.soon_same(describing((TOPIC, name)), [4])


def test_alter_configs_accepts_and_refuses_the_same_settings(pair: Pair) -> None:
    replacements: list[list[tuple[str, str | None]]] = [
        [("log.retention.ms", "5")],
        [("num.partitions", "5")],
        [("log.retention.ms", None)],
        [],
    ]
    for name in ("1", "", "2", "x"):
        for values in replacements:
            pair.same(replacing_all((BROKER, name, values), dry=True))
    for kind, name in ((TOPIC, "missing"), (TOPIC, ""), (GROUP, ""), (CLIENT_METRICS, ""), (BROKER_LOGGER, "1"), (UNKNOWN, "1"), (3, "1")):
        pair.same(replacing_all((kind, name, [("retention.ms", "5")]), dry=True))
    pair.same(replacing_all((GROUP, "g", [("consumer.session.timeout.ms", "50000")]), dry=True))
    pair.same(replacing_all((CLIENT_METRICS, "m", [("interval.ms", "1000")]), dry=True))
    # Kafka never answers when a resource is named twice.
    twice = pair.barnabas.broker.ask(replacing_all((TOPIC, "missing", []), (TOPIC, "missing", []), dry=True), 2)
    assert [each.error_code for each in twice.responses] == [ErrorCode.INVALID_REQUEST] * 2
    pair.same(replacing_all(dry=True))
