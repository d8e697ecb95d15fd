"""ListConfigResources."""

from __future__ import annotations

from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.conformance.differential.config_requests import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SET,
    TOPIC,
    UNKNOWN,
    altered,
)
from tests.conformance.differential.pair import Pair


def test_list_config_resources_names_resources_with_settings(pair: Pair) -> None:
    pair.create("listed")
    with (
        altered(pair, GROUP, "a-group", ("share.isolation.level", SET, "read_committed")),
        altered(pair, CLIENT_METRICS, "some-metrics", ("interval.ms", SET, "1000")),
    ):
        pair.same(ListConfigResourcesRequest())
        for kinds in ([TOPIC], [BROKER], [BROKER_LOGGER], [CLIENT_METRICS], [GROUP], [TOPIC, GROUP], [TOPIC, TOPIC]):
            pair.same(ListConfigResourcesRequest(resource_types=kinds))
    for kinds in ([UNKNOWN], [1], [64], [TOPIC, 3]):
        pair.same(ListConfigResourcesRequest(resource_types=kinds))
