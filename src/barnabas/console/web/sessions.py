"""Sessions in memory: the logins of a person at each cluster, and notices for the next page.

A session ends after :data:`~barnabas.console.limits.SESSION_SECONDS`, or when it was idle for
:data:`~barnabas.console.limits.SESSION_IDLE_SECONDS`. The oldest one without logins makes room for
a new one when there are too many.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from barnabas.console.errors import Busy
from barnabas.console.limits import (
    FAILED_LOGIN_SECONDS,
    FAILED_LOGINS_MAX,
    NOTICES_MAX,
    SESSION_IDLE_SECONDS,
    SESSION_SECONDS,
    SESSIONS_MAX,
)


@dataclass(frozen=True, slots=True)
class Login:
    """The credentials of a principal at one cluster, as properties of a client."""

    principal: str
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """A person that an identity provider or a proxy has logged in. Logins at clusters are made
    from it."""

    principal: str
    token: str | None = field(default=None, repr=False)
    """For OAUTHBEARER."""
    expires: float | None = None
    """The end of the token, in seconds since 1970."""
    refresh_token: str | None = field(default=None, repr=False)
    """Gets a new token from the identity provider; each may be good for one use only."""


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """A login at the identity provider that has begun and not ended."""

    state: str
    nonce: str
    verifier: str
    next: str


@dataclass(slots=True)
class Session:
    id: str
    started: float
    seen: float
    logins: dict[str, Login] = field(default_factory=dict)
    identity: Identity | None = None
    pending: PendingLogin | None = None
    notices: list[str] = field(default_factory=list)
    refreshing: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Held while the token of the identity is renewed: pages of one session load at once, and a
    refresh token may be good for one use only."""

    def notice(self, sentence: str) -> None:
        del self.notices[: max(0, len(self.notices) + 1 - NOTICES_MAX)]
        self.notices.append(sentence)

    def take_notices(self) -> list[str]:
        taken, self.notices = self.notices, []
        return taken


class Sessions:
    def __init__(self, new_id: Callable[[], str], clock: Callable[[], float], *, sessions_max: int = SESSIONS_MAX) -> None:
        self._new_id = new_id
        self._clock = clock
        self._sessions_max = sessions_max
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, session_id: str) -> Session | None:
        session = self._sessions.get(session_id)
        if session is None:
            return None
        now = self._clock()
        if now - session.started > SESSION_SECONDS or now - session.seen > SESSION_IDLE_SECONDS:
            del self._sessions[session_id]
            return None
        session.seen = now
        self._sessions.move_to_end(session_id)
        return session

    def start(self) -> Session:
        if len(self._sessions) >= self._sessions_max:
            self._make_room()
        now = self._clock()
        session = Session(self._new_id(), now, now)
        self._sessions[session.id] = session
        return session

    def renew(self, session: Session) -> Session:
        """Another session with a new id and the logins of the old one, before a login: an id that
        was planted is worth nothing then. Requests in flight keep the old session, so they learn
        neither the new id nor the new login."""
        self.end(session)
        renewed = replace(session, id=self._new_id(), logins=dict(session.logins), pending=None, notices=session.take_notices())
        self._sessions[renewed.id] = renewed
        return renewed

    def end(self, session: Session) -> None:
        self._sessions.pop(session.id, None)

    def _make_room(self) -> None:
        anonymous = (each.id for each in self._sessions.values() if not each.logins and each.identity is None)
        idle = next(anonymous, next(iter(self._sessions)))
        del self._sessions[idle]


class FailedLogins:
    """Counts failed logins of each address within a minute, and those in flight, which may fail.

    Logins in flight with the same credentials count once: a program may send many requests at
    once, and gains nothing from one guess made twice."""

    def __init__(self, clock: Callable[[], float], addresses_max: int) -> None:
        self._clock = clock
        self._addresses_max = addresses_max
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._in_flight: dict[str, Counter[Hashable]] = {}

    @contextmanager
    def attempt(self, address: str, credentials: Hashable) -> Iterator[None]:
        """Raises :class:`Busy` when the address may not try now."""
        in_flight = self._in_flight.get(address, Counter())
        recent = [each for each in self._failures.get(address, ()) if self._clock() - each < FAILED_LOGIN_SECONDS]
        if len(recent) + len(in_flight.keys() - {credentials}) >= FAILED_LOGINS_MAX:
            raise Busy("Too many logins from this address have failed; wait a minute.")
        self._in_flight[address] = in_flight
        in_flight[credentials] += 1
        try:
            yield
        finally:
            in_flight[credentials] -= 1
            if not in_flight[credentials]:
                del in_flight[credentials]
            if not in_flight:
                self._in_flight.pop(address, None)

    def add(self, address: str) -> None:
        now = self._clock()
        kept = [each for each in self._failures.pop(address, ()) if now - each < FAILED_LOGIN_SECONDS]
        self._failures[address] = [*kept[-FAILED_LOGINS_MAX:], now]
        if len(self._failures) > self._addresses_max:
            self._failures.popitem(last=False)
