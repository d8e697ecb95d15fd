"""The clients that a limit is for, as the options of a command line name them."""

from __future__ import annotations

from typing import Final

from barnabas.cli.errors import Refused
from barnabas.security.quotas.entities import CLIENT_ID, IP, USER, Entity, Part

# Kafka's tools write the default entity like this.
DEFAULT: Final = "<default>"


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


def _part(kind: str, option: str, name: str | None, default_option: str, is_default: bool) -> list[Part]:
    if name is not None and is_default:
        raise Refused(f"{option} and {default_option} exclude each other.")
    if name == "":
        raise Refused(f"{option} is empty.")
    return [Part(kind, None if is_default else name)] if is_default or name is not None else []
