from __future__ import annotations

import socket
import sys

import pytest

from barnabas.devcluster.kept_ports import KeptPorts

HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """As a node does."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, port))
    listener.listen()
    return listener


def is_free(port: int) -> bool:
    """For somebody who has nothing to do with us."""
    with socket.socket() as stranger:
        try:
            stranger.bind((HOST, port))
        except OSError:
            return False
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is kept")
def test_a_kept_port_is_nobody_elses_before_during_and_after_somebody_listens_there() -> None:
    kept = KeptPorts(HOST)
    port = kept.choose()
    kept.all_are_chosen()
    assert not is_free(port)
    with listen(port), socket.create_connection((HOST, port)):
        assert not is_free(port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port))
    assert not is_free(port)
    with listen(port):
        pass
    kept.close()


def test_none_is_chosen_twice_and_all_are_let_go_at_the_end() -> None:
    kept = KeptPorts(HOST)
    ports = {kept.choose() for _ in range(100)}
    assert len(ports) == 100
    kept.close()
    assert all(map(is_free, ports))


def test_where_somebody_listens_none_is_chosen() -> None:
    kept = KeptPorts(HOST)
    with listen(0) as listener, pytest.raises(OSError, match="in use"):
        kept.choose(listener.getsockname()[1])
    kept.close()
