"""Notifies the service manager of a node's state, as ``sd_notify(3)`` of systemd does.

systemd names a socket in ``NOTIFY_SOCKET`` for units of ``Type=notify``, and a datagram with
``READY=1`` on it ends the start of the unit. So ``systemctl start`` returns when the node serves,
and units ordered after the node start then. Without the variable nothing is sent.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Final

READY: Final = b"READY=1"
STOPPING: Final = b"STOPPING=1"

NOTIFY_SOCKET: Final = "NOTIFY_SOCKET"
# A leading @ stands for the zero byte that begins the name of an abstract socket.
_ABSTRACT: Final = "@"


def notify(state: bytes, environment: Mapping[str, str] = os.environ) -> None:
    address = environment.get(NOTIFY_SOCKET, "")
    if not address.startswith(("/", _ABSTRACT)):
        return
    if address.startswith(_ABSTRACT):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(state, address)
    except OSError:
        # The variable may be left over from a parent whose socket is gone. A node that could serve
        # its clients must not stop, and its loop must not block, because of a notification.
        return
