"""Requests over real sockets to servers that answer, refuse, fail, or say nothing."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from barnabas.registry_client import NotFound, RegistryClient, RegistryRefused, RegistrySettings, RegistryUnreachable
from barnabas.schemas.schema import Reference, ResolvedReference, SchemaType

Answer = tuple[int, Any]


class Server:
    """Answers by a function of the method and the path, and remembers the requests."""

    def __init__(self, respond: Callable[[str, str], Answer]) -> None:
        self.requests: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.requests.append((self.command, self.path))
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, body = respond(self.command, self.path)
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(*responders: Callable[[str, str], Answer]) -> Iterator[list[Server]]:
    with ExitStack() as stack:
        servers = [Server(each) for each in responders]
        for server in servers:
            stack.callback(server.close)
        yield servers


def dead_url() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


def schema(_: str, path: str) -> Answer:
    return 200, {"schema": '"string"', "guid": "89791762-2336-4186-9674-299b90a802e2"} if path.startswith("/schemas/ids/") else {}


def test_next_instance_answers_when_one_is_dead() -> None:
    with serving(schema) as [alive], RegistryClient(f"{dead_url()},{alive.url}") as client:
        assert client.schema_by_id(1).text == '"string"'
        # The instance that answered is asked first from then on.
        assert client.schema_by_id(2).text == '"string"'
        assert len(alive.requests) == 2


@pytest.mark.parametrize("status", [500, 503, 429])
def test_next_instance_answers_when_one_fails(status: int) -> None:
    failing = lambda *_: (status, {"error_code": 50003, "message": "No leader."})  # noqa: E731
    with serving(failing, schema) as [ill, well], RegistryClient(f"{ill.url},{well.url}") as client:
        assert client.schema_by_id(1).id == 1
        assert len(ill.requests) == 1


def test_registry_without_a_live_instance_is_unreachable() -> None:
    first, second = dead_url(), dead_url()
    with RegistryClient(f"{first},{second}") as client, pytest.raises(RegistryUnreachable) as caught:
        client.latest("orders-value")
    assert f"No registry answers at {first}" in str(caught.value)
    assert f"No registry answers at {second}" in str(caught.value)


def test_registry_that_says_nothing_is_unreachable_after_the_timeout() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with RegistryClient(RegistrySettings((url,), answer_seconds=0.2)) as client, pytest.raises(RegistryUnreachable):
            client.latest("orders-value")


def test_server_that_is_no_registry_is_unreachable() -> None:
    answers: list[Any] = [b"<html>", [], 5, {}, {"schema": 1, "schemaType": "XML"}, {"schema": "x", "references": [1]}]
    with serving(lambda *_: (200, answers[0])) as [server], RegistryClient(server.url) as client:
        while answers:
            for ask in (
                lambda: client.latest("s"),
                lambda: client.mode("s"),
                lambda: client.compatibility(),
            ):
                with pytest.raises(RegistryUnreachable):
                    ask()
            answers.pop(0)


def test_error_of_the_registry_has_its_code_and_sentence() -> None:
    refuse = lambda method, _: (404, {"error_code": 40401, "message": "Subject not found"}) if method == "GET" else (409, b"")  # noqa: E731
    with serving(refuse) as [server], RegistryClient(server.url) as client:
        with pytest.raises(NotFound, match="Subject not found") as missing:
            client.latest("orders-value")
        assert (missing.value.status, missing.value.code) == (404, 40401)
        with pytest.raises(RegistryRefused, match="The registry answers 409") as refused:
            client.register("orders-value", SchemaType.AVRO, '"string"')
        assert (refused.value.status, refused.value.code) == (409, 409)


def test_schema_is_asked_for_once() -> None:
    with serving(schema) as [server], RegistryClient(RegistrySettings((server.url,), cache_entries=2)) as client:
        for schema_id in (1, 1, 2, 1, 3, 1, 2):
            client.schema_by_id(schema_id)
        # Two fit: 2 was used longest ago when 3 came.
        assert [path for _, path in server.requests] == [f"/schemas/ids/{number}" for number in (1, 2, 3, 2)]


def test_missing_schema_is_asked_for_again() -> None:
    answers = iter([(404, {"error_code": 40403, "message": "Schema not found"}), (200, {"schema": '"string"'})])
    with serving(lambda *_: next(answers)) as [server], RegistryClient(server.url) as client:
        with pytest.raises(NotFound):
            client.schema_by_id(1)
        assert client.schema_by_id(1).type is SchemaType.AVRO


def test_references_come_in_the_order_that_a_parser_needs() -> None:
    def respond(_: str, path: str) -> Answer:
        match path.partition("?")[0]:
            case "/schemas/ids/1":
                both = [{"name": "b", "subject": "s/b", "version": 1}, {"name": "a", "subject": "a", "version": 2}]
                return 200, {"schema": '{"type":"record","name":"R","fields":[{"name":"x","type":"b"}]}', "references": both}
            case "/subjects/s%2Fb/versions/1":
                text = '{"type":"record","name":"b","fields":[{"name":"y","type":"a"}]}'
                return 200, {"schema": text, "references": [{"name": "a", "subject": "a", "version": 2}], "id": 7, "version": 1}
            case "/subjects/a/versions/2":
                return 200, {"schema": '{"type":"fixed","name":"a","size":1}', "id": 8, "version": 2}
        return 404, {}

    with serving(respond) as [server], RegistryClient(server.url) as client:
        found = client.schema_by_id(1)
        assert found.references == (Reference("b", "s/b", 1), Reference("a", "a", 2))
        assert [each.name for each in found.resolved] == ["a", "b"]
        assert found.resolved[0] == ResolvedReference("a", '{"type":"fixed","name":"a","size":1}')
        assert found.parsed.record_name == "R"


def test_references_in_a_circle_are_refused() -> None:
    circle = {"schema": '"string"', "references": [{"name": "a", "subject": "a", "version": 1}]}
    with (
        serving(lambda *_: (200, circle)) as [server],
        RegistryClient(server.url) as client,
        pytest.raises(RegistryRefused, match="leads back to itself"),
    ):
        client.schema_by_id(1)


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"basic.auth.user.info": "alice:secret"}, f"Basic {base64.b64encode(b'alice:secret').decode()}"),
        ({"bearer.auth.token": "token"}, "Bearer token"),
    ],
)
def test_login_travels_with_every_request(settings: dict[str, object], header: str) -> None:
    with serving(schema) as [server], RegistryClient({"url": server.url, **settings}) as client:
        client.schema_by_id(1)
        assert server.headers[0]["authorization"] == header


def test_registry_without_associations_has_no_associated_subject() -> None:
    with serving(lambda *_: (404, b"<html>")) as [server], RegistryClient(server.url) as client:
        assert client.associated_subject("orders", is_key=False) is None
        assert client.associated_subject("orders", is_key=False) is None
        assert server.requests == [("GET", "/associations/resources/-/orders?resourceType=topic&associationType=value")]


def test_threads_share_a_client() -> None:
    with serving(schema) as [server], RegistryClient(server.url) as client:
        found: list[int | None] = []
        threads = [Thread(target=lambda each=each: found.append(client.schema_by_id(each % 3).id)) for each in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(each for each in found if each is not None) == sorted(each % 3 for each in range(24))
