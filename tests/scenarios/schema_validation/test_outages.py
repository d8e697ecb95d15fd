"""A registry that is killed, hangs, or talks nonsense; and brokers that have none."""

from __future__ import annotations

import builtins
import select
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from peers.apache_kafka import free_port
from tests.registry_process import RegistryProcess
from tests.scenarios.client import Client, produce_request
from tests.scenarios.schema_validation.stage import BY_ID, BY_PAYLOAD, REGISTRY_URL, Stage, batch, stamped
from tests.waiting import until

TIMEOUT_MS = "barnabas.schema.validation.timeout.ms"
WHEN_UNREACHABLE = "barnabas.schema.validation.when.unreachable"
MISSING_MS = "barnabas.schema.validation.missing.cache.ms"
CACHE_MS = "barnabas.schema.validation.cache.ms"
BROKER = 4


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The broker gives up, as it should."""


@contextmanager
def server_that(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """The URL of an HTTP server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: Any) -> None:
            """Nothing: the output is the test's."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def saying(status: int, body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def hanging(request: BaseHTTPRequestHandler) -> None:
    time.sleep(20)


def trickling(request: BaseHTTPRequestHandler) -> None:
    """A byte now and then, so that no timeout of a single read ever ends it."""
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    for _ in range(100):
        request.wfile.write(b" ")
        request.wfile.flush()
        time.sleep(0.2)


@contextmanager
def broker_with(url: str, **settings: str) -> Iterator[tuple[EmbeddedBroker, Client]]:
    config = {REGISTRY_URL: url, **{name.replace("_", "."): value for name, value in settings.items()}}
    with EmbeddedBroker(config=config) as kafka, Client(kafka.bootstrap) as client:
        yield kafka, client


@contextmanager
def kept_settings(client: Client, values: Mapping[str, str], back: Mapping[str, str]) -> Iterator[None]:
    client.alter_configs(BROKER, "", dict(values))
    try:
        yield
    finally:
        client.alter_configs(BROKER, "", dict(back))


def test_a_killed_registry_stops_only_ids_that_the_broker_does_not_know() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with broker_with(url, barnabas_schema_validation_missing_cache_ms="0", barnabas_schema_validation_cache_ms="0") as (kafka, client):
        with RegistryProcess(kafka.bootstrap, "--port", str(port)) as registry:
            stage = Stage(kafka, registry)
            topic = stage.topic(client, BY_ID)
            known, unknown = (stamped(stage.register(f"{topic}-value", schema)) for schema in ('"int"', '"long"'))
            client.produce(topic, [known])
            registry.kill()
        client.produce(topic, [known])
        refused = client.produce_batch(topic, 0, batch(unknown))
        assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert (refused.error_message or "").startswith("the schemas of the batch cannot be validated now: No registry answers at ")
        # A record without a schema is refused without a registry.
        assert client.produce_batch(topic, 0, batch(unknown, b"raw")).error_code == ErrorCode.INVALID_RECORD
        client.alter_configs(BROKER, "", {WHEN_UNREACHABLE: "accept"})
        assert client.produce_batch(topic, 0, batch(unknown)).error_code == ErrorCode.NONE
        assert client.produce_batch(topic, 0, batch(b"raw")).error_code == ErrorCode.INVALID_RECORD
        client.alter_configs(BROKER, "", {WHEN_UNREACHABLE: "refuse"})
        with RegistryProcess(kafka.bootstrap, "--port", str(port)):
            until(
                lambda: client.produce_batch(topic, 0, batch(unknown)).error_code == ErrorCode.NONE, "the broker finds the registry again"
            )


@pytest.mark.parametrize("answer", [hanging, trickling], ids=["hanging", "trickling"])
@pytest.mark.parametrize("config", [BY_ID, BY_PAYLOAD], ids=["id", "payload"])
def test_a_registry_that_hangs_delays_a_batch_by_the_timeout(
    answer: Callable[[BaseHTTPRequestHandler], None], config: dict[str, str]
) -> None:
    with server_that(answer) as url, broker_with(url, barnabas_schema_validation_timeout_ms="700") as (_, client):
        client.create_topic("slow", configs=config)
        began = time.monotonic()
        sent = client.send(produce_request("slow", 0, batch(stamped(1))), 12)
        answered, response = client.receive(produce_request("slow", 0, None), 12)
        took = time.monotonic() - began
        assert (answered, response.responses[0].partition_responses[0].error_code) == (sent, ErrorCode.NOT_ENOUGH_REPLICAS)
        # A busy machine makes it longer than the timeout, but the server hangs for twenty seconds.
        assert 0.7 <= took < 10
        client.alter_configs(BROKER, "", {WHEN_UNREACHABLE: "accept"})
        assert client.produce_batch("slow", 0, batch(stamped(2))).error_code == ErrorCode.NONE


def test_a_batch_that_waits_for_the_registry_holds_up_no_other_client() -> None:
    with server_that(hanging) as url, broker_with(url, barnabas_schema_validation_timeout_ms="60000") as (kafka, client):
        client.create_topic("slow", configs=BY_ID)
        client.create_topic("free")
        client.send(produce_request("slow", 0, batch(stamped(1))), 12)
        with Client(kafka.bootstrap) as other:
            other.produce("free", [b"raw"])
        assert not select.select([client.socket], [], [], 0)[0], "the first batch still waits"


def test_a_paused_registry_counts_as_one_that_hangs(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    good = stamped(stage.register(f"{topic}-value"))
    with kept_settings(client, {TIMEOUT_MS: "500"}, {TIMEOUT_MS: "3000"}):
        stage.registry.pause()
        try:
            assert client.produce_batch(topic, 0, batch(good)).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        finally:
            stage.registry.resume()
    until(lambda: client.produce_batch(topic, 0, batch(good)).error_code == ErrorCode.NONE, "the registry answers again")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, b'{"error_code": 401, "message": "Unauthorized"}'),
        (500, b'{"error_code": 50001, "message": "Error in the backend data store"}'),
        (200, b"<html>welcome</html>"),
        (200, b'{"surprise": [1]}'),
        (200, b"null"),
        (200, b'[{"version": 1}]'),
        (302, b""),
    ],
    ids=str,
)
def test_a_registry_that_talks_nonsense_gives_no_verdict(status: int, body: bytes) -> None:
    with server_that(saying(status, body)) as url, broker_with(url) as (_, client):
        for level, config in (("id", BY_ID), ("payload", BY_PAYLOAD)):
            client.create_topic(level, configs=config)
            answer = client.produce_batch(level, 0, batch(stamped(1)))
            assert (answer.error_code, bool(answer.error_message)) == (ErrorCode.NOT_ENOUGH_REPLICAS, True), answer


def test_the_login_reaches_the_registry_and_no_client() -> None:
    seen: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        seen.append(request.headers.get("Authorization"))
        saying(200, b'[{"subject": "t-value", "version": 1}]')(request)

    with (
        server_that(answer) as url,
        broker_with(url, confluent_basic_auth_user_info="alice:open sesame") as (_, client),
    ):
        client.create_topic("t", configs=BY_ID)
        client.produce("t", [stamped(1)])
        assert seen == ["Basic YWxpY2U6b3BlbiBzZXNhbWU="]
        described = client.ask(
            DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)]), 4
        ).results[0]
        secrets = {each.name: (each.value, each.is_sensitive) for each in described.configs if each.name.endswith("user.info")}
        assert secrets == {
            "barnabas.schema.registry.basic.auth.user.info": (None, True),
            "confluent.basic.auth.user.info": (None, True),
        }


def test_the_metrics_page_counts_batches_and_lookups() -> None:
    port = free_port()
    answer = saying(200, b'[{"subject": "t-value", "version": 1}]')
    with server_that(answer) as url, broker_with(url, barnabas_prometheus_listener=f"127.0.0.1:{port}") as (_, client):
        client.create_topic("t", configs=BY_ID)
        for values in ([stamped(1)], [stamped(1)], [b"raw"]):
            client.produce_batch("t", 0, batch(*values))
        page = httpx.get(f"http://127.0.0.1:{port}/metrics").text
    for line in (
        'barnabas_schema_validated_batches_total{outcome="accepted",topic="t"} 2.0',
        'barnabas_schema_validated_batches_total{outcome="refused",topic="t"} 1.0',
        'barnabas_schema_lookups_total{outcome="registered"} 1.0',
        'barnabas_schema_lookups_total{outcome="failed"} 0.0',
        "barnabas_schema_waiting_batches 0.0",
        "barnabas_schema_waiting_bytes 0.0",
        "barnabas_schemas_known 1.0",
    ):
        assert line in page, page


def test_a_topic_that_requires_schemas_is_refused_without_a_registry() -> None:
    with EmbeddedBroker() as kafka, Client(kafka.bootstrap) as client:
        config = [CreatableTopicConfig(name="confluent.value.schema.validation", value="true")]
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=-1, assignments=[], configs=config)
        (refused,) = client.ask(CreateTopicsRequest(topics=[topic])).topics
        assert refused.error_code == ErrorCode.INVALID_CONFIG
        assert "needs barnabas.schema.registry.url (or confluent.schema.registry.url)" in (refused.error_message or "")


def test_a_broker_that_lost_its_registry_setting_refuses_batches_with_a_sentence(tmp_path: Any) -> None:
    with (
        EmbeddedBroker(data_dir=tmp_path, config={REGISTRY_URL: "http://127.0.0.1:1"}) as kafka,
        Client(kafka.bootstrap) as client,
    ):
        client.create_topic("t", configs=BY_ID)
    with EmbeddedBroker(data_dir=tmp_path) as kafka, Client(kafka.bootstrap) as client:
        answer = client.produce_batch("t", 0, batch(stamped(1)))
        assert answer.error_code == ErrorCode.INVALID_CONFIG
        assert answer.error_message == "the topic requires schemas, but this broker has no barnabas.schema.registry.url"


def test_a_broker_without_the_packages_starts_and_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_packages(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("barnabas.schema_validation.registry_source"):
            raise ImportError("No module named 'httpx'")
        return original(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without_packages)
    with broker_with("http://127.0.0.1:1") as (_, client):
        client.create_topic("t", configs=BY_ID)
        answer = client.produce_batch("t", 0, batch(stamped(1)))
        assert answer.error_code == ErrorCode.INVALID_CONFIG
        assert "pip install 'barnabas[registry]'" in (answer.error_message or "")
        client.create_topic("free")
        client.produce("free", [b"raw"])


def test_a_broker_stops_while_batches_wait() -> None:
    with server_that(hanging) as url:
        kafka = EmbeddedBroker(config={REGISTRY_URL: url})
        with kafka, Client(kafka.bootstrap) as client:
            client.create_topic("t", configs=BY_ID)
            client.send(produce_request("t", 0, batch(stamped(1)), acks=-1), 12)
            began = time.monotonic()
        assert time.monotonic() - began < 15, "it does not wait for the registry"


def test_validation_that_is_turned_off_lets_waiting_batches_pass_in_order() -> None:
    asked = threading.Event()

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.set()
        hanging(request)

    with server_that(answer) as url, broker_with(url, barnabas_schema_validation_timeout_ms="60000") as (kafka, client):
        client.create_topic("t", configs=BY_ID)
        with Client(kafka.bootstrap) as producer:
            for number in range(5):
                producer.send(produce_request("t", 0, batch(stamped(1, b"%d" % number)), acks=1), 12)
            until(asked.is_set, "the first batch waits")
            client.alter_configs(2, "t", {"confluent.value.schema.validation": "false"})
            producer.send(produce_request("t", 0, batch(b"raw"), acks=1), 12)
            answers = [producer.receive(produce_request("t", 0, None), 12)[1].responses[0].partition_responses[0] for _ in range(6)]
        assert [(each.error_code, each.base_offset) for each in answers] == [(0, offset) for offset in range(6)]
        assert client.values("t") == [*(stamped(1, b"%d" % number) for number in range(5)), b"raw"]
