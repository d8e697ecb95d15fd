"""The identity of a caller. A client of a listener without authentication is ANONYMOUS."""

from __future__ import annotations

from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    type: str
    name: str
    token_authenticated: bool = False

    def __str__(self) -> str:
        """As ACLs and ``super.users`` name it."""
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")


def parse_principal(text: str) -> Principal:
    """``Type:name``; the name may contain colons. Raises ``ValueError`` for other text."""
    kind, colon, name = text.partition(":")
    if not colon or not kind:
        raise ValueError(f"a principal is written as Type:name, but was {text!r}")
    return Principal(kind, name)


def parse_principals(text: str) -> list[Principal]:
    """``super.users``: principals separated by semicolons. Names of certificates contain commas."""
    return [parse_principal(each.strip()) for each in text.split(";") if each.strip()]
