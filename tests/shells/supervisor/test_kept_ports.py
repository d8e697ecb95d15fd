from __future__ import annotations

import socket
import sys

import pytest

from barnabas.supervisor.kept_ports import KeptPorts

HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """As a node does."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, port))
    listener.listen()
    return listener


def is_free(port: int) -> bool:
    """For an unrelated process."""
    with socket.socket() as stranger:
        try:
            stranger.bind((HOST, port))
        except OSError:
            return False
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is kept")
def test_a_kept_port_is_free_for_no_other_process_at_any_time() -> None:
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


def test_chosen_ports_are_distinct_and_free_after_close() -> None:
    kept = KeptPorts(HOST)
    ports = {kept.choose() for _ in range(100)}
    assert len(ports) == 100
    kept.close()
    assert all(map(is_free, ports))


def test_a_port_in_use_cannot_be_chosen() -> None:
    kept = KeptPorts(HOST)
    with listen(0) as listener, pytest.raises(OSError, match="in use"):
        kept.choose(listener.getsockname()[1])
    kept.close()
