"""The address of a client, in the one spelling that limits, quotas and access rules compare."""

from __future__ import annotations

# A socket for both families shows IPv4 clients with this prefix.
_MAPPED_IPV4 = "::ffff:"


def client_address(host: str) -> str:
    """Without the zone of a link-local address, which is a name of this machine only."""
    host = host.partition("%")[0]
    if host.startswith(_MAPPED_IPV4) and "." in host:
        return host[len(_MAPPED_IPV4) :]
    return host
