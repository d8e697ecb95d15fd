"""When the kernel wakes the reader of a request that is incomplete."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import pytest

from barnabas.network.receive_mark import MARK_BYTES, ReceiveMark
from tests.waiting import until

MUCH = 1_000_000


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client's socket and the accepted one."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
    with client, accepted:
        yield client, accepted


def wakes(accepted: socket.socket) -> bool:
    return bool(select.select([accepted], [], [], 0)[0])


def arrived_bytes(accepted: socket.socket) -> int:
    accepted.setblocking(False)
    try:
        return len(accepted.recv(MUCH, socket.MSG_PEEK))
    except BlockingIOError:
        return 0


def test_reader_sleeps_until_much_of_a_large_request_has_come(pair: tuple[socket.socket, socket.socket]) -> None:
    client, accepted = pair
    ReceiveMark(accepted).adjust(MUCH)
    client.sendall(bytes(MARK_BYTES - 1))
    until(lambda: arrived_bytes(accepted) == MARK_BYTES - 1, "the bytes arrive")
    assert not wakes(accepted)
    client.sendall(b"x")
    until(lambda: wakes(accepted), "the reader wakes")


def test_reader_wakes_for_the_last_bytes_of_a_large_request(pair: tuple[socket.socket, socket.socket]) -> None:
    client, accepted = pair
    mark = ReceiveMark(accepted)
    mark.adjust(MUCH)
    client.sendall(b"x")
    until(lambda: arrived_bytes(accepted) == 1, "the byte arrives")
    mark.adjust(MARK_BYTES)
    assert wakes(accepted)


def test_reader_wakes_for_the_request_after_a_large_one(pair: tuple[socket.socket, socket.socket]) -> None:
    client, accepted = pair
    mark = ReceiveMark(accepted)
    mark.adjust(MUCH)
    mark.adjust(0)
    client.sendall(b"x")
    until(lambda: wakes(accepted), "the reader wakes")


def test_reader_wakes_when_the_peer_leaves_inside_a_large_request(pair: tuple[socket.socket, socket.socket]) -> None:
    client, accepted = pair
    ReceiveMark(accepted).adjust(MUCH)
    client.sendall(b"x")
    client.shutdown(socket.SHUT_WR)
    until(lambda: wakes(accepted), "the reader wakes")


def test_reader_wakes_when_the_buffer_of_the_kernel_is_smaller_than_the_mark(pair: tuple[socket.socket, socket.socket]) -> None:
    client, accepted = pair
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    ReceiveMark(accepted).adjust(MUCH)
    client.setblocking(False)
    client.send(bytes(MUCH))
    until(lambda: wakes(accepted), "the reader wakes")


def test_mark_of_a_closed_socket_does_nothing(pair: tuple[socket.socket, socket.socket]) -> None:
    _, accepted = pair
    mark = ReceiveMark(accepted)
    accepted.close()
    mark.adjust(MUCH)
    assert not mark.raised
