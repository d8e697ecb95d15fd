"""How many connections, how large, how idle: a listener's limits out of the settings in force."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.config.keys import Value
from barnabas.config.listeners import pairs
from barnabas.network.listener import ConnectionLimits

_OVERRIDES = "max.connections.per.ip.overrides"


def connection_limits(values: Mapping[str, Value]) -> ConnectionLimits:
    def integer(name: str) -> int:
        value = values[name]
        assert isinstance(value, int), name
        return value

    overrides = pairs(_OVERRIDES, str(values[_OVERRIDES]))
    return ConnectionLimits(
        request_bytes_max=integer("socket.request.max.bytes"),
        idle_seconds_max=integer("connections.max.idle.ms") / 1000,
        connections_max=integer("max.connections"),
        connections_per_address_max=integer("max.connections.per.ip"),
        connections_of_address_max={address: int(limit) for address, limit in overrides.items()},
        backlog=integer("socket.listen.backlog.size"),
        send_buffer_bytes=integer("socket.send.buffer.bytes"),
        receive_buffer_bytes=integer("socket.receive.buffer.bytes"),
    )
