"""Documents of an identity provider, from servers that misbehave."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from barnabas.network.oauth.fetching import DOCUMENT_BYTES_MAX, Fetch, FetchFailed, fetched
from tests.scenarios.security.identity_provider import identity_provider

HEADER = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serves one connection with plain bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            accepted, _ = listening.accept()
            with accepted:
                accepted.recv(65_536)
                # The client may have closed the connection.
                with suppress(OSError):
                    serve(accepted)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/keys"
        finally:
            thread.join()


def silence(accepted: socket.socket) -> None:
    accepted.recv(1)


def drip(accepted: socket.socket) -> None:
    accepted.sendall(HEADER + b"\r\n")
    while True:
        accepted.sendall(b"x")


def test_a_document_is_fetched() -> None:
    with identity_provider() as provider:
        assert b'"keys"' in fetched(Fetch(provider.keys_url))


def test_a_file_is_read_and_a_missing_one_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a key set.json"
    path.write_bytes(b"{}")
    assert fetched(Fetch(path.as_uri())) == b"{}"
    with pytest.raises(FetchFailed, match="No such file"):
        fetched(Fetch((tmp_path / "missing").as_uri()))
    path.write_bytes(b"x" * (DOCUMENT_BYTES_MAX + 1))
    with pytest.raises(FetchFailed, match="more than"):
        fetched(Fetch(path.as_uri()))


@pytest.mark.parametrize("status", [301, 302, 404, 500])
def test_an_error_and_a_redirect_are_failures(status: int) -> None:
    with identity_provider() as provider:
        provider.fault = (status, b"secret")
        with pytest.raises(FetchFailed, match=f"answered with status {status}") as failed:
            fetched(Fetch(provider.keys_url))
        assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    "answer",
    [b"", b"\x00\xff\xfe\r\n\r\n", b"HTTP/1.1 banana\r\n\r\n", HEADER + b"Content-Length: 9\r\n\r\nshort", HEADER + b"x" * 100_000],
)
def test_an_answer_that_is_not_http_is_a_failure(answer: bytes) -> None:
    with server(lambda accepted: accepted.sendall(answer)) as url, pytest.raises(FetchFailed):
        fetched(Fetch(url))


def test_an_endless_answer_is_cut_off() -> None:
    with server(drip) as url, pytest.raises(FetchFailed, match=r"more than|longer than"):
        fetched(Fetch(url))


def test_a_silent_server_is_left() -> None:
    with server(silence) as url, pytest.raises(FetchFailed):
        fetched(Fetch(url, seconds_max=0.05))


def test_a_server_that_is_not_there_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
    with pytest.raises(FetchFailed, match="cannot be reached"):
        fetched(Fetch(url))
