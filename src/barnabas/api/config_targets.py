"""The settings of one broker can be changed only at that broker, or at the controller."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.config.values import read_integer
from barnabas.metadata.configs import ResourceType
from barnabas.network.caller import Caller


def why_wrong_broker(broker: Broker, caller: Caller, kind: int, name: str) -> str | None:
    """A sentence if ``name`` is another broker, None otherwise."""
    if kind != ResourceType.BROKER or not name or caller.connection.listener.for_controllers:
        return None
    if read_integer(name) == broker.node_id:
        return None
    return f"Unexpected broker id, expected {broker.node_id} or the empty name, but received {name}."
