"""One run of a mechanism: the tokens that a client and a server exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from barnabas.model.dataclass import dataclass
from barnabas.security.principal import Principal


@dataclass(frozen=True, slots=True)
class Challenge:
    """The exchange continues with this token of the server."""

    token: bytes


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The exchange is complete. ``token`` is the last one of the server; it may be empty."""

    token: bytes
    principal: Principal
    # When the credential ends, in milliseconds since the epoch; None if it has no end.
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """``message`` is for the client. ``reason`` is for the log of this server."""

    message: str
    reason: str = ""


Settled: TypeAlias = Challenge | Authenticated | Failed


@dataclass(frozen=True, slots=True)
class Blocking:
    """The step waits for a file or another machine, so the shell runs ``work`` on a thread. The
    exchange gets no other token meanwhile."""

    work: Callable[[], Settled]


Step: TypeAlias = Settled | Blocking


class ServerExchange(Protocol):
    def step(self, token: bytes) -> Step: ...


class ClientExchange(Protocol):
    """``first`` begins; ``step`` answers each token of the server. None means that the server has
    nothing more to say. Raises :class:`ServerRefused` when the server proves to be another."""

    def first(self) -> bytes: ...

    def step(self, token: bytes) -> bytes | None: ...


class ServerRefused(Exception):
    """The server's answer is wrong: it does not know the password either, or it refused ours."""
