"""Addresses in settings: ``host:port``, and the ``id@host:port`` of a voter.

The pattern is Kafka's own. It matches anything that looks like an address, with or without brackets
around an IPv6 host and with a protocol in front. No name is resolved here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from barnabas.config.values import read_integer

if TYPE_CHECKING:
    import re

PORT_MAX = 65535


def host_and_port(text: str) -> tuple[str, int] | None:
    """An empty host is allowed, as in ``:9092``; a caller that needs a host checks for one."""
    found = _host_port_pattern().fullmatch(text)
    port = read_integer(found[2]) if found else None
    if found is None or port is None or port > PORT_MAX:
        return None
    return found[1], port


def voter(text: str) -> tuple[int, str, int] | None:
    """The node id, host and port of one entry of controller.quorum.voters."""
    number, at, address = text.rstrip("@").partition("@")
    node_id = read_integer(number)
    place = host_and_port(address) if at else None
    if node_id is None or place is None:
        return None
    return node_id, *place


def is_host(text: str) -> bool:
    return text.isascii() and all(each.isalnum() or each in "-%._:" for each in text)


def is_address(text: str) -> bool:
    return host_and_port(text) is not None


def is_voter(text: str) -> bool:
    return voter(text) is not None


@lru_cache(maxsize=1)
def _host_port_pattern() -> re.Pattern[str]:
    import re

    return re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)", re.ASCII)
