"""The clients that a limit is for.

An entity names a user, a client id, both, or an address. A part without a name is the default: it
concerns every user, client id or address that has no limit of its own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"


class Part(NamedTuple):
    type: str
    name: str | None  # None: the default


Entity = tuple[Part, ...]


def entity_text(entity: Entity) -> str:
    """As part of a sentence: "user alice with client id app"."""
    words = {USER: "user", CLIENT_ID: "client id", IP: "address"}
    return " with ".join(
        f"every {words.get(part.type, part.type)} without a limit of its own"
        if part.name is None
        else f"{words.get(part.type, part.type)} {part.name}"
        for part in entity
    )
