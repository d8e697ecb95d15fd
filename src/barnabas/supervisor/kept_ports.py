"""Ports reserved for nodes that do not listen yet, or not at the moment.

A port that the system chose is free again until a node listens on it, and the port of a node that
was killed goes to the next program that asks the system for one. On Linux a socket that is bound
and does not listen keeps the system from choosing its port, while a process that names the port may
still listen on it (both with ``SO_REUSEADDR``). On other systems a bound port is taken, so no port
is reserved there.
"""

from __future__ import annotations

import socket
import sys

_BOUND_IS_NOT_TAKEN = sys.platform == "linux"


class KeptPorts:
    def __init__(self, host: str) -> None:
        self._host = host
        self._held: list[socket.socket] = []

    def choose(self, port: int = 0) -> int:
        """Reserve ``port``, or a free one if it is 0. Raises ``OSError`` when the port is taken."""
        bound = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self._host, port))
        except OSError:
            bound.close()
            raise
        self._held.append(bound)
        chosen: int = bound.getsockname()[1]
        return chosen

    def all_are_chosen(self) -> None:
        """Call this when every port is chosen. Until then each port is held on every system, so
        that none is chosen twice; from then on nodes may listen."""
        if not _BOUND_IS_NOT_TAKEN:
            self.close()

    def close(self) -> None:
        for each in self._held:
            each.close()
        self._held.clear()
