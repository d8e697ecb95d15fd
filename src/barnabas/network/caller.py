"""The caller of one request: its identity, its address and the header of its request."""

from __future__ import annotations

from barnabas.network.connection import Connection
from barnabas.network.request_meter import RequestMeter
from barnabas.security.principal import Principal


class Caller:
    """A value that the dispatcher makes for each request.

    A broker that forwards a request names the principal and the address of its client; otherwise
    both come from the connection.
    """

    __slots__ = ("address", "api", "client_id", "connection", "correlation_id", "forwarded", "meter", "principal", "version")

    def __init__(
        self,
        connection: Connection,
        version: int,
        correlation_id: int,
        client_id: str | None,
        principal: Principal | None = None,
        address: str | None = None,
        *,
        api: str = "",
        meter: RequestMeter | None = None,
    ) -> None:
        """``api`` is the name of the request, for logs."""
        self.connection = connection
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.forwarded = principal is not None
        self.principal = connection.principal if principal is None else principal
        # For a client with quotas, unless the request is forwarded: the broker that forwarded it
        # limits the client.
        self.meter = meter
        self.address = connection.peer_address[0] if address is None else address

    @property
    def listener(self) -> str:
        """The listener of the connection; responses name addresses of that listener only."""
        return self.connection.listener.name

    @property
    def host(self) -> str:
        """The address as groups record and show it.

        Java prints the host name, if it has looked one up, then a slash and the address.
        """
        return f"/{self.address}"
