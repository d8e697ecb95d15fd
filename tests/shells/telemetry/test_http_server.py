"""The HTTP server of scrapers and probes, against the client of the standard library and against
clients that send too much, too slowly, or not HTTP."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from barnabas.telemetry import http_server
from barnabas.telemetry.http_server import HttpServer, Request, Response
from tests.waiting import PATIENCE_SECONDS, until

# More than the kernel takes for a client that does not read: a send buffer grows to 4 MB.
BIG = bytes(16_000_000)


async def hello(request: Request) -> Response:
    return Response(HTTPStatus.OK, f"hello {request.headers.get('x-name', 'you')}".encode())


async def fails(_: Request) -> Response:
    raise ValueError("the reason")


class Running:
    def __init__(self) -> None:
        self.asked_for_big = threading.Event()
        self.failures: list[tuple[str, BaseException]] = []
        self.server = HttpServer(
            "127.0.0.1", 0, {"/": hello, "/big": self.big, "/fails": fails}, lambda path, error: self.failures.append((path, error))
        )

    async def big(self, _: Request) -> Response:
        self.asked_for_big.set()
        return Response(HTTPStatus.OK, BIG)

    def ask(
        self, method: str = "GET", path: str = "/", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        client = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE_SECONDS)
        try:
            client.request(method, path, headers=headers or {})
            response = client.getresponse()
            return response.status, response.read(), response.headers
        finally:
            client.close()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_SECONDS)

    def send(self, request: bytes) -> bytes:
        with self.connect() as client:
            client.sendall(request)
            return read_all(client)


def read_all(client: socket.socket) -> bytes:
    received = b""
    try:
        while more := client.recv(65_536):
            received += more
    except ConnectionResetError:
        pass
    return received


@pytest.fixture
def running() -> Iterator[Running]:
    running = Running()
    yield running
    running.server.close()


def test_get_returns_the_page_of_the_path_and_closes_the_connection(running: Running) -> None:
    status, body, headers = running.ask(path="/?query=is+ignored", headers={"X-Name": "scraper"})
    assert (status, body) == (200, b"hello scraper")
    assert headers["Connection"] == "close"
    assert headers["Content-Length"] == str(len(body))


def test_head_returns_the_length_without_the_page(running: Running) -> None:
    status, body, headers = running.ask("HEAD", "/big")
    assert (status, body, headers["Content-Length"]) == (200, b"", str(len(BIG)))


def test_a_large_page_arrives_whole(running: Running) -> None:
    assert running.ask(path="/big")[1] == BIG


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(running: Running, method: str) -> None:
    status, _, headers = running.ask(method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def test_an_unknown_path_names_the_pages(running: Running) -> None:
    status, body, _ = running.ask(path="/nothing")
    assert status == 404
    assert b"/big" in body


def test_a_page_that_fails_is_reported_and_tells_the_client_no_details(running: Running) -> None:
    status, body, _ = running.ask(path="/fails")
    assert status == 500
    assert b"the reason" not in body
    ((path, error),) = running.failures
    assert (path, str(error)) == ("/fails", "the reason")


@pytest.mark.parametrize("request_line", [b"hello", b"GET / HTTP/2", b"GET /", b"GET http://elsewhere/ HTTP/1.1", b"\x00\x01\xff"])
def test_bytes_that_are_not_http_are_refused(running: Running, request_line: bytes) -> None:
    assert running.send(request_line + b"\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_a_request_that_is_too_large_is_refused_before_it_ends(running: Running) -> None:
    endless = b"GET / HTTP/1.1\r\nX: " + b"x" * (http_server.REQUEST_BYTES_MAX * 4)
    # The answer may be lost when the server closes with bytes unread; the connection ends in any
    # case.
    assert running.send(endless)[:12] in (b"", b"HTTP/1.1 431")
    assert running.ask()[0] == 200


def test_a_client_that_goes_away_does_no_harm(running: Running) -> None:
    for sent in (b"", b"GET / HT", b"GET /big HTTP/1.1\r\n\r\n"):
        with running.connect() as client:
            client.sendall(sent)
    assert running.ask()[0] == 200


def test_a_request_that_trickles_is_ended_in_time(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "REQUEST_SECONDS_MAX", 0.2)
    with running.connect() as client:
        stop = threading.Event()

        def trickle() -> None:
            try:
                while not stop.wait(0.02):
                    client.sendall(b"x")
            except OSError:
                pass

        thread = threading.Thread(target=trickle)
        thread.start()
        received = read_all(client)
        stop.set()
        thread.join()
    assert received[:12] in (b"", b"HTTP/1.1 408")


def test_clients_that_never_finish_do_not_shut_others_out(running: Running) -> None:
    idle = [running.connect() for _ in range(http_server.CONNECTIONS_MAX + 10)]
    try:
        assert running.ask()[0] == 200
    finally:
        for client in idle:
            client.close()


def test_a_client_that_does_not_read_is_aborted(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "RESPONSE_SECONDS_MAX", 0.2)
    with running.connect() as client:
        # A fixed size: the kernel would let the buffer grow to 32 MB.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        assert running.asked_for_big.wait(PATIENCE_SECONDS)
        until(lambda: not running.server._connections, "the connection is aborted")
        assert len(read_all(client)) < len(BIG)


def test_close_ends_connections_and_frees_the_port(running: Running) -> None:
    with running.connect() as client:
        running.server.close()
        assert read_all(client) == b""
        again = HttpServer("127.0.0.1", running.server.port, {}, lambda path, error: None)
        again.close()


def test_a_taken_port_is_an_error_of_the_system(running: Running) -> None:
    with pytest.raises(OSError, match="in use"):
        HttpServer("127.0.0.1", running.server.port, {}, lambda path, error: None)


def test_the_server_does_not_use_the_loop_of_its_owner() -> None:
    async def blocked() -> int:
        running = Running()
        try:
            # This call blocks the loop of the test, and is answered all the same.
            return running.ask()[0]
        finally:
            running.server.close()

    assert asyncio.run(blocked()) == 200
