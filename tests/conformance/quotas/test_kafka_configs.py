"""kafka-configs.sh sets, shows and removes quotas, and Kafka's performance tools feel them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import why_missing
from tests.conformance.clients.kafka_tools import Tools, kafka_tools

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

CONFIGS = "kafka.admin.ConfigCommand"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"


class Quotas:
    def __init__(self, tools: Tools, bootstrap: str) -> None:
        self.tools = tools
        self.bootstrap = bootstrap

    def run(self, *arguments: str) -> str:
        return self.tools.run(CONFIGS, "--bootstrap-server", self.bootstrap, *arguments)


@pytest.fixture(scope="module")
def quotas() -> Iterator[Quotas]:
    with kafka_tools() as tools, EmbeddedBroker() as kafka:
        yield Quotas(tools, kafka.bootstrap)


@pytest.mark.parametrize(
    ("entity", "quota", "shown"),
    [
        (("--entity-type", "users", "--entity-name", "alice smith"), "producer_byte_rate=1024.0", "user-principal 'alice smith'"),
        (("--entity-type", "users", "--entity-default"), "request_percentage=12.5", "the default user-principal"),
        (("--entity-type", "clients", "--entity-name", "shop"), "consumer_byte_rate=2048.0", "client-id 'shop'"),
        (("--entity-type", "clients", "--entity-default"), "controller_mutation_rate=0.5", "the default client-id"),
        (
            ("--entity-type", "users", "--entity-name", "bob", "--entity-type", "clients", "--entity-name", "shop"),
            "producer_byte_rate=10.0",
            "user-principal 'bob', client-id 'shop'",
        ),
        (
            ("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-default"),
            "producer_byte_rate=20.0",
            "the default user-principal, the default client-id",
        ),
        (("--entity-type", "ips", "--entity-name", "10.1.2.3"), "connection_creation_rate=5.0", "ip '10.1.2.3'"),
        (("--entity-type", "ips", "--entity-default"), "connection_creation_rate=6.0", "the default ip"),
    ],
)
def test_kafka_configs_sets_shows_and_removes_a_quota(quotas: Quotas, entity: tuple[str, ...], quota: str, shown: str) -> None:
    assert "Completed updating" in quotas.run("--alter", *entity, "--add-config", quota)
    assert f"Quota configs for {shown} are {quota}" in quotas.run("--describe", *entity)
    quotas.run("--alter", *entity, "--delete-config", quota.partition("=")[0])
    assert "Quota configs" not in quotas.run("--describe", *entity)


def test_kafka_configs_shows_why_a_quota_is_refused(quotas: Quotas) -> None:
    entity = ("--entity-type", "users", "--entity-name", "eve")
    ended = quotas.tools.try_run(
        CONFIGS, "--bootstrap-server", quotas.bootstrap, "--alter", *entity, "--add-config", "producer_byte_rate=0.5"
    )
    assert "producer_byte_rate" in ended.out + ended.err
    assert "Quota configs" not in quotas.run("--describe", *entity)


def test_the_java_producer_measures_its_throttle_time(quotas: Quotas) -> None:
    entity = ("--entity-type", "clients", "--entity-name", "slow")
    quotas.run("--alter", *entity, "--add-config", "producer_byte_rate=200000")
    printed = quotas.tools.run(
        PRODUCER_PERFORMANCE,
        *("--topic", "throttled", "--num-records", "2500", "--record-size", "1000", "--throughput", "-1", "--print-metrics"),
        *("--producer-props", f"bootstrap.servers={quotas.bootstrap}", "client.id=slow"),
    )
    assert "2500 records sent" in printed
    (line,) = [each for each in printed.splitlines() if "produce-throttle-time-max" in each]
    assert float(line.rpartition(":")[2]) > 0
