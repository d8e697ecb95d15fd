"""The clients that a limit is for.

An entity names a user, a client id, both, or an address. A part without a name is the default: it
concerns every user, client id or address that has no limit of its own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from barnabas.cli.errors import Refused

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
# Kafka's tools write the default entity like this.
DEFAULT: Final = "<default>"


class Part(NamedTuple):
    type: str
    name: str | None  # None: the default


Entity = tuple[Part, ...]


def entity_of(
    *, user: str | None, user_default: bool, client_id: str | None, client_default: bool, ip: str | None, ip_default: bool
) -> Entity:
    """Empty when nothing is named."""
    parts = (
        *_part(USER, "--user", user, "--user-default", user_default),
        *_part(CLIENT_ID, "--client-id", client_id, "--client-default", client_default),
        *_part(IP, "--ip", ip, "--ip-default", ip_default),
    )
    if len(parts) > 1 and any(part.type == IP for part in parts):
        raise Refused("A limit is for an address, or for a user and a client id, so --ip cannot be given with those.")
    return parts


def entity_text(entity: Entity) -> str:
    """As part of a sentence: "user alice with client id app"."""
    words = {USER: "user", CLIENT_ID: "client id", IP: "address"}
    return " with ".join(
        f"every {words.get(part.type, part.type)} without a limit of its own"
        if part.name is None
        else f"{words.get(part.type, part.type)} {part.name}"
        for part in entity
    )


def _part(kind: str, option: str, name: str | None, default_option: str, is_default: bool) -> list[Part]:
    if name is not None and is_default:
        raise Refused(f"{option} and {default_option} exclude each other.")
    if name == "":
        raise Refused(f"{option} is empty.")
    return [Part(kind, None if is_default else name)] if is_default or name is not None else []
