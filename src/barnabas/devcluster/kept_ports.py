"""Ports that are kept for nodes which do not listen yet, or not at the moment.

What the system chose is nobody's until somebody listens there, and the port of a node that was killed goes to whoever asks the system for
one next. On Linux a socket that is bound and does not listen keeps its port from being chosen, and lets those listen there who ask for it
by its number (both with ``SO_REUSEADDR``). Elsewhere what is bound is taken, so nothing is kept.
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
        """``port``, or with 0 one that is free; ``OSError`` when it is not."""
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
        """Until now none could be chosen twice, on any system. From now on nodes may listen."""
        if not _BOUND_IS_NOT_TAKEN:
            self.close()

    def close(self) -> None:
        for each in self._held:
            each.close()
        self._held.clear()
