"""Whether a machine says that no process listens at an address, with real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from barnabas.network import refusals
from barnabas.network.refusals import refuses_connections


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        yield server


def refuses(host: str, port: int) -> bool:
    return asyncio.run(refuses_connections(host, port))


def test_a_port_on_which_no_process_listens_refuses(listening: socket.socket) -> None:
    port = listening.getsockname()[1]
    assert not refuses("127.0.0.1", port)
    listening.close()
    assert refuses("127.0.0.1", port)


def test_a_name_refuses_only_if_all_its_addresses_do(listening: socket.socket) -> None:
    """``localhost`` may have an address of IPv6, on which no process listens here."""
    port = listening.getsockname()[1]
    assert not refuses("localhost", port)
    listening.close()
    assert refuses("localhost", port)


def test_a_full_queue_of_connections_does_not_refuse(listening: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "REFUSAL_SECONDS_MAX", 0.2)
    address = listening.getsockname()
    waiting = []
    for _ in range(8):
        waiting.append(socket.socket())
        waiting[-1].setblocking(False)
        waiting[-1].connect_ex(address)
    assert not refuses(*address)
    for each in waiting:
        each.close()


@pytest.mark.parametrize(("host", "port"), [("no-such-host.invalid", 1), ("a" * 300, 1)])
def test_an_address_that_means_nothing_does_not_refuse(host: str, port: int) -> None:
    assert not refuses(host, port)
