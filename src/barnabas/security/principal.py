"""The identity of a caller. Every client is ANONYMOUS until a listener authenticates it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    type: str
    name: str
    token_authenticated: bool = False


ANONYMOUS = Principal("User", "ANONYMOUS")
