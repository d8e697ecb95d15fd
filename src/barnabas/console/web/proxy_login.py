"""Logins by a proxy: it names the person in a header of each request.

The header of any other machine could name any person, so such a request is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from barnabas.console.errors import Forbidden
from barnabas.console.web.call import Call
from barnabas.console.web.sessions import Identity

# Longer than any name of a principal.
NAME_CHARACTERS_MAX = 250


def take_identity_of_proxy(call: Call) -> None:
    """Raises :class:`Forbidden` for a request that comes from elsewhere or has no name."""
    settings = call.services.settings.header
    assert settings is not None, "checked at the start"
    if not is_trusted(call.address, settings.trusted_proxies):
        raise Forbidden("The console is reached through a proxy that logs people in, and this request did not come from it.")
    name = call.request.headers.get(settings.name, "").strip()
    if not name or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
        raise Forbidden(f"The proxy has not named a person in the header {settings.name}.")
    token = call.request.headers.get(settings.token_name) if settings.token_name is not None else None
    identity = Identity(f"User:{name}", token)
    if call.session.identity != identity:
        # Another person, or a new token: connections of the one before must not be used.
        call.session.logins.clear()
        call.session.identity = identity


def is_trusted(address: str, networks: Sequence[str]) -> bool:
    try:
        return any(ip_address(address) in ip_network(each) for each in networks)
    except ValueError:
        return False
