"""The settings of one broker can be changed only at that broker, or at the controller.

The broker checks a change of its listeners before it passes it on: the key stores and trust stores
are files that only this broker can read.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.config.values import read_integer
from barnabas.controller.core.configs import Changes, settings_after
from barnabas.metadata.configs import ConfigResource, ResourceType
from barnabas.network.caller import Caller

_OF_LISTENERS = ("listener.name.", "ssl.")


def why_wrong_broker(broker: Broker, caller: Caller, kind: int, name: str) -> str | None:
    """A sentence if ``name`` is another broker, None otherwise."""
    if kind != ResourceType.BROKER or not name or caller.connection.listener.for_controllers:
        return None
    if read_integer(name) == broker.node_id:
        return None
    return f"Unexpected broker id, expected {broker.node_id} or the empty name, but received {name}."


def why_unusable(broker: Broker, caller: Caller, kind: int, name: str, changes: Changes) -> str | None:
    """A sentence if this broker's listeners could not work after the changes. None for changes that
    the controller refuses anyway: it has the better sentence."""
    if kind != ResourceType.BROKER or not name or caller.connection.listener.for_controllers:
        return None
    if not any(each.startswith(_OF_LISTENERS) for each, _, _ in changes):
        return None
    metadata = broker.metadata
    after = settings_after(metadata.image, metadata.effective, ConfigResource(kind, name), changes)
    return None if after is None else broker.why_listeners_unusable(after)
