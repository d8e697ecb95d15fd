"""Who asks, and how: what a handler may want to know about a request besides the request."""

from __future__ import annotations

from barnabas.network.connection import Connection


class RequestContext:
    __slots__ = ("api_version", "client_id", "connection", "correlation_id")

    def __init__(self, connection: Connection, api_version: int, correlation_id: int, client_id: str | None) -> None:
        self.connection = connection
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    @property
    def listener(self) -> str:
        """The listener the client came through: it is told addresses of that listener and no other."""
        return self.connection.listener.name

    @property
    def client_host(self) -> str:
        """The client's address as groups record and show it. Java puts a name in front of the slash only once it looked one up."""
        return f"/{self.connection.peer_address[0]}"
