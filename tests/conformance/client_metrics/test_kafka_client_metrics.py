"""kafka-client-metrics.sh and kafka-configs.sh."""

from __future__ import annotations

from tests.conformance.client_metrics.conftest import CLIENT_METRICS, Receiving

CONFIGS = "kafka.admin.ConfigCommand"


def test_kafka_client_metrics_makes_lists_describes_and_deletes_a_subscription(receiving: Receiving) -> None:
    made = receiving.tool(
        "--alter", "--name", "java", "--metrics", "org.apache.kafka.producer.", "--interval", "60000", "--match", "client_id=a.*"
    )
    assert "Altered client metrics config for java." in made
    assert "java" in receiving.tool("--list").split()
    described = receiving.tool("--describe", "--name", "java")
    assert [line.strip() for line in described.strip().splitlines()] == [
        "Client metrics configs for java are:",
        "interval.ms=60000",
        "match=client_id=a.*",
        "metrics=org.apache.kafka.producer.",
    ]
    assert "Deleted client metrics config for java." in receiving.tool("--delete", "--name", "java")
    assert "java" not in receiving.tool("--list").split()


def test_kafka_client_metrics_generates_a_name(receiving: Receiving) -> None:
    made = receiving.tool("--alter", "--generate-name", "--interval", "60000")
    name = made.strip().removeprefix("Altered client metrics config for ").rstrip(".")
    assert name in receiving.tool("--list").split()
    receiving.tool("--delete", "--name", name)


def test_kafka_client_metrics_shows_why_a_value_is_refused(receiving: Receiving) -> None:
    refused = receiving.tools.try_run(
        CLIENT_METRICS, "--bootstrap-server", receiving.bootstrap, "--alter", "--name", "x", "--interval", "99"
    )
    assert refused.status == 1
    assert "interval.ms" in refused.out + refused.err
    refused = receiving.tools.try_run(
        CLIENT_METRICS, "--bootstrap-server", receiving.bootstrap, "--alter", "--name", "x", "--match", "client_id=("
    )
    assert refused.status == 1
    assert "Illegal client matching pattern: client_id=(" in refused.out + refused.err


def test_kafka_configs_sets_and_shows_a_subscription(receiving: Receiving) -> None:
    entity = ("--bootstrap-server", receiving.bootstrap, "--entity-type", "client-metrics", "--entity-name", "by-configs")
    assert "Completed updating" in receiving.tools.run(CONFIGS, "--alter", *entity, "--add-config", "interval.ms=60000,metrics=[a,b]")
    described = receiving.tools.run(CONFIGS, "--describe", *entity)
    assert "interval.ms=60000" in described
    assert "metrics=a,b" in described
    receiving.tools.run(CONFIGS, "--alter", *entity, "--delete-config", "interval.ms,metrics")
    assert "by-configs" not in receiving.tool("--list").split()
