"""A node's listeners and peers whose network can be cut and restored.

A cut listener does not listen: its connections are reset, and new ones are refused, as they are
when the machine is up and the broker is not. On Linux a listening socket that is shut down keeps
its port and can listen again. Elsewhere new connections are accepted and closed at once.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from barnabas.network.connection import Connection
from barnabas.network.listener import Listener
from barnabas.network.peer_connection import PeerConnection
from barnabas.network.peers import Peer, Peers

_REASON = "the test has cut the network"


class CuttableListener(Listener):
    def __init__(self, *arguments: Any, opened: Callable[[CuttableListener, Connection], None], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._on_opened = opened
        self._cut = False

    def start(self) -> None:
        super().start()
        if self._cut:
            self._stop_listening()

    def opened(self, connection: Connection) -> None:
        super().opened(connection)
        self._on_opened(self, connection)
        if self._cut:
            connection.abort()

    def cut(self) -> None:
        self._cut = True
        if self._started:
            self._stop_listening()
        for connection in list(self.connections):
            connection.abort()

    def reconnect(self) -> None:
        self._cut = False
        if self._started and self._socket.fileno() >= 0:
            self._socket.listen(self.limits.backlog)
            self._accept_or_wait()

    def _accept_or_wait(self) -> None:
        if not self._cut:
            super()._accept_or_wait()

    def _stop_listening(self) -> None:
        if self._accepting:
            self.loop.remove_reader(self._socket.fileno())
            self._accepting = False
        try:
            self._socket.shutdown(socket.SHUT_RD)
        except OSError:
            # Not on this system: connect, then be closed.
            self._cut_by_closing()

    def _cut_by_closing(self) -> None:
        self.loop.add_reader(self._socket.fileno(), self._accept)
        self._accepting = True


class CuttablePeer(Peer):
    cut = False

    async def _connect(self, connection: PeerConnection) -> None:
        if self.cut:
            self._lost(connection, _REASON)
        else:
            await super()._connect(connection)
            self._close_if_cut(connection)

    def _close_if_cut(self, connection: PeerConnection) -> None:
        """The network may have been cut while the connection was made."""
        if self.cut:
            connection.close(_REASON)

    def cut_off(self) -> None:
        self.cut = True
        for connection in (self._connection, self._retired):
            if connection is not None:
                connection.close(_REASON)


class CuttablePeers(Peers):
    peer_class = CuttablePeer

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_cut = False

    def at(self, host: str, port: int, purpose: str = "") -> Peer:
        peer = super().at(host, port, purpose)
        assert isinstance(peer, CuttablePeer)
        peer.cut = self._is_cut
        return peer

    def cut(self) -> None:
        self._is_cut = True
        for peer in self._peers.values():
            assert isinstance(peer, CuttablePeer)
            peer.cut_off()

    def reconnect(self) -> None:
        self._is_cut = False
        for peer in self._peers.values():
            assert isinstance(peer, CuttablePeer)
            peer.cut = False
