"""The port for serving requests that repeat earlier ones of their connection, without decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from barnabas.network.connection import Connection, Reply


class Shortcut(Protocol):
    """Belongs to one connection, and to one API in one version.

    It remembers the meaning of a request's bytes, never a decision: the log, the metadata and the
    group are asked again for every request.
    """

    @property
    def route(self) -> object:
        """The route of the API in this version; a request with another route replaces the
        shortcut."""

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        """The reply to a request that repeats a remembered one; None for any other request."""

    def remember(self, frame: memoryview, body: int, request: Any, response: Any) -> None:
        """Remember a request that a handler has just served, if possible.

        ``body`` is the position of its body in the frame. ``response`` is None while the response
        is pending, and for requests without a response.
        """
