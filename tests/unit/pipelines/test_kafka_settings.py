from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.errors import CannotRun, DeclarationError
from barnabas.pipelines.kafka_settings import ClusterAddress, for_librdkafka, for_spark, read_settings, replaced_by

PIPELINE = """
name: p
sources: {{orders: {{topic: orders}}}}
sinks: {{out: {{from: orders, topic: out}}}}
kafka: {kafka}
"""
PATIENCE = ("fetchOffset.numRetries", "kafka.request.timeout.ms", "kafka.default.api.timeout.ms")
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
FILE = f"""
bootstrap.servers=broker:9093
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config={PLAIN} required username="ann" password="hidden-one";
ssl.truststore.type=PEM
ssl.truststore.location=/ca.pem
max.poll.records=7
"""


@pytest.fixture
def client_file(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(FILE)
    return path


def written(folder: Path, kafka: str) -> str:
    path = folder / "pipeline.yaml"
    path.write_text(PIPELINE.format(kafka=kafka))
    return str(path)


def test_librdkafka_gets_its_names_and_nothing_that_it_does_not_know(client_file: Path) -> None:
    config = for_librdkafka("b:1", read_settings(str(client_file)))
    assert {name: value for name, value in config.items() if name != "logger"} == {
        "bootstrap.servers": "b:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "hidden-one",
        "ssl.ca.location": "/ca.pem",
    }


def test_spark_gets_javas_names_as_they_are(client_file: Path) -> None:
    given = read_settings(str(client_file))
    expected = {f"kafka.{name}": value for name, value in given.items()} | {"kafka.bootstrap.servers": "b:1"}
    assert {name: value for name, value in for_spark("b:1", given).items() if name not in PATIENCE} == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("10000", "30000")),
        ({"request.timeout.ms": "2000"}, ("2000", "30000")),
        ({"request.timeout.ms": "40000"}, ("40000", "40000")),
        ({"default.api.timeout.ms": "60000"}, ("10000", "60000")),
        ({"request.timeout.ms": "soon"}, ("soon", None)),
    ],
)
def test_spark_asks_another_broker_within_seconds_unless_a_pipeline_says_otherwise(given: dict[str, str], expected: object) -> None:
    options = for_spark("b:1", given)
    assert (options["kafka.request.timeout.ms"], options.get("kafka.default.api.timeout.ms")) == expected
    assert options["fetchOffset.numRetries"] == "6"


def test_a_client_file_of_the_command_replaces_the_login_of_the_pipeline(client_file: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "{sasl.username: bob, sasl.password: x, client.id: me}")
    pipeline = read_pipeline(path, client_file=str(client_file))
    assert pipeline.bootstrap == "broker:9093"
    assert "sasl.username" not in pipeline.kafka
    assert pipeline.kafka["client.id"] == "me"
    assert "hidden-one" not in repr(pipeline)


def test_a_file_without_a_login_leaves_that_of_the_pipeline() -> None:
    assert replaced_by({"sasl.username": "bob"}, {"client.id": "me"}) == {"sasl.username": "bob", "client.id": "me"}


def test_a_pipeline_names_its_own_client_file(client_file: Path, tmp_path: Path) -> None:
    pipeline = read_pipeline(written(tmp_path, f"{{config_file: {client_file}, max.poll.records: 8}}"))
    assert pipeline.bootstrap == "broker:9093"
    assert pipeline.kafka["max.poll.records"] == "8"
    assert pipeline.kafka["security.protocol"] == "SASL_SSL"
    assert "config_file" not in pipeline.kafka


def test_a_client_file_that_is_missing_is_a_mistake_of_the_pipeline(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"pipeline\.yaml:5: 'config_file' in 'kafka' of the pipeline: /none: No such file"):
        read_pipeline(written(tmp_path, "{config_file: /none}"))


def test_settings_that_cannot_be_translated_are_refused_without_their_values() -> None:
    with pytest.raises(CannotRun, match=r"reads certificates from PEM files"):
        for_librdkafka("b:1", {"ssl.truststore.location": "/ca.jks"})
    assert "hidden-one" not in repr(ClusterAddress("b:1", {"sasl.password": "hidden-one"}))
