"""The controller as every other part of a node sees it."""

from __future__ import annotations

from typing import Any, Protocol

from barnabas.model.promise import Promise
from barnabas.network.caller import Caller


class ControllerPort(Protocol):
    """Implemented by :class:`~barnabas.controller.channel.ControllerChannel`, which finds the
    active controller wherever it is, and by :class:`~barnabas.controller.driver.ControllerDriver`,
    the controller in this node, which answers NOT_CONTROLLER while it is not active."""

    def submit(self, request: Any, caller: Caller | None = None) -> Promise[Any]:
        """The controller's response, once its decision is committed. ``caller`` is the client that
        made the request; None when this node asks for itself.

        The response is always one of the request's own API. If no controller could be reached, it
        carries the error code.
        """
