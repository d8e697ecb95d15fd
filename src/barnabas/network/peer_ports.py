"""The port to other nodes: :class:`~barnabas.network.peers.Peers`, or its replacement in a test."""

from __future__ import annotations

from typing import Any, Protocol

from barnabas.model.promise import Promise


class PeerPort(Protocol):
    def send(self, request: Any, *, timeout_ms: int) -> Promise[Any]: ...


class PeersPort(Protocol):
    def at(self, host: str, port: int, purpose: str = "") -> PeerPort: ...

    def refuses(self, host: str, port: int) -> Promise[bool]:
        """Whether the machine at this address says that no process listens there. No answer, and
        any other one, is False: only a machine that is up can refuse.
        """
