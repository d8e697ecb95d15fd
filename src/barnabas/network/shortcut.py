"""A shorter way through the server for requests that repeat earlier ones of the same connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from barnabas.network.connection import Connection, Reply


class Shortcut(Protocol):
    """Belongs to one connection and to one API in one version. It remembers what the bytes of a request mean, never a
    decision: the log, the metadata and the group are asked anew for every request."""

    @property
    def route(self) -> object:
        """How the full way serves this API: a shortcut of another route gives way to a new one."""

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        """The reply to a request that repeats a remembered one; None when the request must go the full way."""

    def remember(self, frame: memoryview, body: int, request: Any, response: Any) -> None:
        """Take a request that the full way has just served, if it is one that can be remembered. ``body`` is where it begins in
        its frame; ``response`` is None while the response is pending, and for requests that get none."""
