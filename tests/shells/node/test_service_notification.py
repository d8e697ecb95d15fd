"""The datagrams that systemd gets from a node."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.node.service_notification import READY, notify
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def manager() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(PATIENCE_SECONDS)
        yield listening


@pytest.fixture
def short_path() -> Iterator[Path]:
    """The path of a unix socket has at most 107 bytes; pytest's directories may be longer."""
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory) / "notify"


def test_a_state_reaches_the_socket_that_the_environment_names(manager: socket.socket, short_path: Path) -> None:
    manager.bind(str(short_path))
    notify(READY, {"NOTIFY_SOCKET": str(short_path)})
    assert manager.recv(64) == b"READY=1"


def test_a_state_reaches_an_abstract_socket(manager: socket.socket, short_path: Path) -> None:
    manager.bind(f"\0{short_path}")
    notify(READY, {"NOTIFY_SOCKET": f"@{short_path}"})
    assert manager.recv(64) == b"READY=1"


@pytest.mark.parametrize("address", [None, "", "vsock:2:1234", "/nonexistent/notify"])
def test_a_node_without_a_service_manager_sends_nothing_and_goes_on(address: str | None) -> None:
    notify(READY, {} if address is None else {"NOTIFY_SOCKET": address})
