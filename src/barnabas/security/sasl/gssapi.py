"""GSSAPI (RFC 4752): Kerberos tickets, and then one message about a security layer.

    client                            server
    tokens of the context      <-->   tokens of the context
                               <---   wrapped: layers on offer, largest message
    wrapped: chosen layer,     --->
    largest message, identity

No security layer is offered, as in Kafka: encryption is the work of TLS. The client's authorization
identity is ignored, also as in Kafka: clients put different things there, and the principal is
always the one that the ticket proves.

The machines here know the Kerberos library only as :class:`SecurityContext`. Its calls read files
and may ask a KDC, so every step of the server is :class:`~.exchange.Blocking`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Blocking, Challenge, Failed, ServerRefused, Step

NO_LAYER = 1
_OFFER = bytes((NO_LAYER, 0, 0, 0))
_REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"
# A context needs two or three; a client that goes on and on gets no thread of ours any more.
TOKENS_MAX = 8


class GssFailure(Exception):
    """The library refused a token. The text is for the log of this server."""


class SecurityContext(Protocol):
    """One context of the Kerberos library. Every method may raise :class:`GssFailure`."""

    @property
    def complete(self) -> bool: ...

    def step(self, token: bytes) -> bytes: ...

    def wrap(self, message: bytes) -> bytes:
        """With integrity, without encryption."""

    def unwrap(self, token: bytes) -> bytes: ...

    def initiator(self) -> str:
        """The client's principal, with its realm."""


class GssapiServer:
    def __init__(self, accept: Callable[[], SecurityContext], local_name: Callable[[str], str | None]) -> None:
        self._accept = accept
        self._local_name = local_name
        self._context: SecurityContext | None = None
        self._tokens = 0
        self._offered = False

    def step(self, token: bytes) -> Step:
        return Blocking(lambda: self._step(token))

    def _step(self, token: bytes) -> Challenge | Authenticated | Failed:
        self._tokens += 1
        if self._tokens > TOKENS_MAX:
            return Failed(_REFUSED, f"more than {TOKENS_MAX} tokens")
        try:
            if self._offered:
                return self._chosen(token)
            if self._context is None:
                self._context = self._accept()
            if not self._context.complete:
                answer = self._context.step(token)
                if answer or not self._context.complete:
                    return Challenge(answer)
            elif token:
                return Failed(_REFUSED, "a token behind the end of the context")
            self._offered = True
            return Challenge(self._context.wrap(_OFFER))
        except GssFailure as error:
            return Failed(_REFUSED, str(error))

    def _chosen(self, token: bytes) -> Authenticated | Failed:
        assert self._context is not None
        message = self._context.unwrap(token)
        if len(message) < len(_OFFER) or message[0] != NO_LAYER:
            return Failed(_REFUSED, "the client chose a security layer that was not offered")
        principal = self._context.initiator()
        name = self._local_name(principal)
        if name is None:
            return Failed(_REFUSED, "sasl.kerberos.principal.to.local.rules have no name for the client's principal")
        return Authenticated(b"", Principal("User", name))


class GssapiClient:
    """``begin`` has made the first token, on a thread: only that one may need the KDC."""

    def __init__(self, context: SecurityContext, first: bytes) -> None:
        self._context = context
        self._first = first
        self._chosen = False

    def first(self) -> bytes:
        return self._first

    def step(self, token: bytes) -> bytes | None:
        if self._chosen:
            return None
        try:
            if not self._context.complete:
                return self._context.step(token)
            offer = self._context.unwrap(token)
            if len(offer) != len(_OFFER) or not offer[0] & NO_LAYER:
                raise ServerRefused("the server asks for a security layer, and TLS is the layer here")
            self._chosen = True
            return self._context.wrap(_OFFER)
        except GssFailure as error:
            raise ServerRefused(f"Kerberos refused the server: {error}") from error
