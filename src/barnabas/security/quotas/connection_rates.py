"""How fast a node accepts connections: as a whole, on each listener, and from each address.

==================================  ==============================================================
``max.connection.creation.rate``    of the node, for all listeners but the one that only brokers
                                    use: the next connection is accepted later
``listener.name.<listener>.`` with  of one listener: the next connection is accepted later
the same name
``connection_creation_rate``        a quota of an address: the connection is accepted, kept waiting
                                    and closed, so that the client does not come back at once
==================================  ==============================================================

The arithmetic is that of clients' byte rates. One connection never makes anything wait for longer
than one window.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

from barnabas.security.quotas.quota_table import IP, Entity
from barnabas.security.quotas.sensors import Sensors
from barnabas.security.quotas.windowed_rate import WindowedRate, Windows, delay_ms

CONNECTION_RATE_KEY: Final = "connection_creation_rate"
NO_LIMIT: Final = 2**31 - 1
_NODE = ""


class RateLimits(NamedTuple):
    """Connections a second."""

    node: int = NO_LIMIT
    of_listeners: Mapping[str, int] = {}


class ConnectionRates:
    """Times are monotonic milliseconds."""

    def __init__(self, windows: Windows | None = None) -> None:
        self._windows = windows or Windows()
        self._limits = RateLimits()
        self._rates: dict[str, WindowedRate] = {}
        self._of_addresses: Mapping[str, float] = {}
        self._by_address: Sensors[WindowedRate] = Sensors(lambda: WindowedRate(self._windows))
        self._of_other_addresses: float | None = None
        # Names of hosts in the quotas of addresses. They have no effect.
        self.not_addresses: frozenset[str] = frozenset()

    def change_limits(self, limits: RateLimits) -> None:
        self._limits = limits

    def replace(self, by_entity: Mapping[Entity, Mapping[str, float]]) -> None:
        """The quotas of a new image."""
        limits: dict[str, float] = {}
        other, unknown = None, set()
        for entity, values in by_entity.items():
            rate = values.get(CONNECTION_RATE_KEY)
            kinds = dict(entity)
            if rate is None or set(kinds) != {IP}:
                continue
            name = kinds[IP]
            if name is None:
                other = rate
            elif (address := _canonical(name)) is not None:
                limits[address] = rate
            else:
                unknown.add(name)
        self._of_addresses, self._of_other_addresses, self.not_addresses = limits, other, frozenset(unknown)

    def refusal_ms(self, address: str, now_ms: int) -> int:
        """How long to hold a new connection before it is closed; 0 to serve it."""
        if self._of_other_addresses is None and not self._of_addresses:
            return 0
        address = _canonical(address) or address
        limit = self._of_addresses.get(address, self._of_other_addresses)
        if limit is None:
            return 0
        rate = self._by_address.of(("", address), now_ms)
        wait_ms = self._record(rate, limit, now_ms)
        if wait_ms:
            rate.record(-1, now_ms)
        return wait_ms

    def wait_ms(self, listener: str, now_ms: int, *, for_nodes: bool) -> int:
        """Record a connection; how long the listener waits before it serves it. A listener that is
        ``for_nodes`` does not use the rate of the node, so that clients cannot use it up."""
        node, own = self._limits.node, self._limits.of_listeners.get(listener, NO_LIMIT)
        waits = [0]
        if node < NO_LIMIT and not for_nodes:
            waits.append(self._record(self._rate(_NODE), node, now_ms))
        if own < NO_LIMIT:
            waits.append(self._record(self._rate(listener), own, now_ms))
        return max(waits)

    def _rate(self, name: str) -> WindowedRate:
        if name not in self._rates:
            self._rates[name] = WindowedRate(self._windows)
        return self._rates[name]

    def _record(self, rate: WindowedRate, limit: float, now_ms: int) -> int:
        rate.record(1, now_ms)
        if limit <= 0:
            return self._windows.size_ms
        return min(self._windows.size_ms, delay_ms(rate, limit, now_ms))


def _canonical(text: str) -> str | None:
    """One text for each address; an IPv4 address of a socket that also serves IPv6 is IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
