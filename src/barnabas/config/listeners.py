"""Listeners: named addresses, each with a security protocol, read from a node's settings.

``listeners`` are the sockets to open. ``advertised.listeners`` are the addresses that clients
receive, by default the same. ``listener.security.protocol.map`` gives the security protocol of each
name. A name in ``controller.listener.names`` belongs to controllers and is never advertised to
clients. When the map is not set and no listener name implies TLS or SASL, controller names use
PLAINTEXT, so that the usual small configuration needs no map.

An empty host means every interface. Names are upper case here, however the user wrote them.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from barnabas.config.addresses import PORT_MAX
from barnabas.config.keys import ConfigError
from barnabas.config.settings import BrokerSettings
from barnabas.config.values import read_integer, split_list, trim
from barnabas.model.dataclass import dataclass

if TYPE_CHECKING:
    import re

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MAP: Final = "listener.security.protocol.map"


@dataclass(frozen=True, slots=True)
class Listener:
    """One entry of ``listeners`` or ``advertised.listeners``."""

    name: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def listeners(settings: BrokerSettings) -> tuple[Listener, ...]:
    """Where the node listens, for clients and for controllers."""
    found = _parse("listeners", settings)
    _refuse_shared_ports(found)
    return found


def controller_listeners(settings: BrokerSettings) -> tuple[Listener, ...]:
    names = settings.strings("controller.listener.names")
    return tuple(listener for listener in listeners(settings) if listener.name in names)


def advertised_listeners(settings: BrokerSettings) -> tuple[Listener, ...]:
    """The addresses that clients receive; an empty host is filled in by the node with its own
    name.
    """
    names = settings.strings("controller.listener.names")
    given = "listeners" if settings["advertised.listeners"] is None else "advertised.listeners"
    return tuple(listener for listener in _parse(given, settings) if listener.name not in names)


def advertised_controller_listeners(settings: BrokerSettings) -> tuple[Listener, ...]:
    """The addresses of this controller that other nodes receive: the advertised ones, and for other
    names the addresses it listens on.
    """
    names = settings.strings("controller.listener.names")
    given = () if settings["advertised.listeners"] is None else _parse("advertised.listeners", settings)
    advertised = {listener.name: listener for listener in given if listener.name in names}
    return tuple(advertised.get(listener.name, listener) for listener in controller_listeners(settings))


def inter_broker_listener_name(settings: BrokerSettings) -> str:
    name = settings.text_or_none("inter.broker.listener.name")
    return settings.text("security.inter.broker.protocol") if name is None else name.upper()


def controller_listener_name(settings: BrokerSettings) -> str:
    """The listener on which this node reaches controllers: the first that they have."""
    return settings.strings("controller.listener.names")[0].upper()


def security_protocols(settings: BrokerSettings) -> dict[str, str]:
    """The security protocol of every listener name that has one."""
    protocols = {}
    for name, protocol in pairs(_MAP, settings.text(_MAP)).items():
        if protocol.upper() not in PROTOCOLS:
            raise ConfigError(f"{_MAP} gives {name} the protocol {protocol!r}, but it must be one of {', '.join(PROTOCOLS)}.")
        protocols[name.upper()] = protocol.upper()
    if _MAP not in settings.explicit:
        controllers = settings.strings("controller.listener.names")
        listening = [text.partition("://")[0] for text in settings.strings("listeners")]
        if not any(name.upper() in PROTOCOLS[1:] for name in (*controllers, *listening)):
            protocols.update({name.upper(): "PLAINTEXT" for name in controllers})
    return protocols


def pairs(key: str, text: str) -> dict[str, str]:
    """``a:1,b:2`` as a mapping; the last colon separates the two, since a host may be an IPv6
    address.
    """
    found = {}
    for entry in split_list(trim(text)):
        name, colon, value = entry.rpartition(":")
        if not colon:
            raise ConfigError(f"{key} has the entry {entry!r}, but an entry must be two texts joined by a colon.")
        found[name.strip()] = value.strip()
    return found


def _parse(key: str, settings: BrokerSettings) -> tuple[Listener, ...]:
    protocols = security_protocols(settings)
    found = tuple(_listener(key, text, protocols) for text in settings.strings(key))
    for name, count in Counter(listener.name for listener in found).items():
        if count > 1:
            raise ConfigError(f"{key} names {name} {count} times, but every listener must have a name of its own.")
    return found


def _listener(key: str, text: str, protocols: dict[str, str]) -> Listener:
    found = _listener_pattern().fullmatch(text)
    port = read_integer(found[3]) if found else None
    if found is None or port is None or port > PORT_MAX:
        raise ConfigError(f"{key} has the entry {text!r}, but an entry must be NAME://host:port.")
    name = found[1].upper()
    if name not in protocols:
        raise ConfigError(f"{key} has the listener {name}, but {_MAP} does not give its security protocol.")
    return Listener(name, protocols[name], found[2], port)


def _refuse_shared_ports(found: tuple[Listener, ...]) -> None:
    """Two listeners may share a port if one is IPv4 and the other IPv6. Port 0 lets the system
    choose and is never shared.
    """
    for port, count in Counter(listener.port for listener in found if listener.port).items():
        if count == 1:
            continue
        families = [_family(listener.host) for listener in found if listener.port == port]
        if sorted(families) != [4, 6]:
            raise ConfigError(f"listeners uses port {port} {count} times, which only one IPv4 and one IPv6 address may do.")


def _family(host: str) -> int:
    from ipaddress import ip_address  # imported late: rarely needed, and slow to load

    try:
        return ip_address(host).version
    except ValueError:
        return 0


@lru_cache(maxsize=1)
def _listener_pattern() -> re.Pattern[str]:
    import re

    return re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)", re.ASCII)
