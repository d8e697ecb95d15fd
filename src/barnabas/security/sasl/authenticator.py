"""The server's side of authentication on one connection: frames in, outcomes out.

    START -> VERSIONS_KNOWN -> EXCHANGE -> accepted or refused
      |            ^  |            ^
      +------------+  +------------+   SaslHandshake chooses the mechanism
       ApiVersions, once

Until a connection is authenticated it may send ApiVersions once, SaslHandshake, and then the
mechanism's tokens. Every other request closes it: before the handshake without an answer and before
its body is parsed, during the exchange with an answer of its own API (ILLEGAL_SASL_STATE). After a
handshake of version 0 the tokens come as bare frames without a header, and a failure has no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, TypeAlias

from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.security.client_software import software_is_valid
from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Blocking, Challenge, Failed, ServerExchange, Settled, Step
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, decoder, encoder
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import RequestPrefix, read_request_prefix, request_header_version, response_header_version
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from barnabas.wire.messages.sasl_handshake import SaslHandshakeResponse
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields

_CORRELATION_ID_BYTES = 4


@dataclass(frozen=True, slots=True)
class PassOn:
    """The request is ApiVersions: the dispatcher answers it."""


@dataclass(frozen=True, slots=True)
class Reply:
    frame: OutFrame


@dataclass(frozen=True, slots=True)
class Session:
    """The result of an authentication."""

    mechanism: str
    principal: Principal
    # How long the connection may be used before the client authenticates again; None if for ever.
    lifetime_ms: int | None
    # Whether the client reads that lifetime, and can authenticate again.
    may_reauthenticate: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    frame: OutFrame
    session: Session


@dataclass(frozen=True, slots=True)
class Refused:
    """``frame`` is the answer before the connection is closed, if there is one. Both come late, to
    slow down guessing."""

    reason: str
    frame: OutFrame | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The client does not follow the protocol; it gets no answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A request of another API in the middle of an exchange. It is answered with
    ILLEGAL_SASL_STATE, and the connection is closed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Working:
    """``work`` blocks and belongs on a thread; ``then`` takes its result, on the loop. The
    connection may send nothing meanwhile."""

    work: Callable[[], Settled]
    then: Callable[[Settled], Reply | Accepted | Refused]


Outcome: TypeAlias = PassOn | Reply | Accepted | Refused | Closed | Misplaced | Working


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism that a listener accepts."""

    exchange: Callable[[], ServerExchange]
    session_ms_max: int = 0  # connections.max.reauth.ms; 0 means no limit


class _State(Enum):
    START = auto()
    VERSIONS_KNOWN = auto()
    EXCHANGE = auto()


class Authenticator:
    """``previous`` is set when an authenticated connection authenticates again: its mechanism and
    principal must stay the same."""

    def __init__(self, mechanisms: Mapping[str, Mechanism], previous: Session | None = None) -> None:
        self._mechanisms = mechanisms
        self._previous = previous
        self._state = _State.START if previous is None else _State.VERSIONS_KNOWN
        self._name = ""
        self._exchange: ServerExchange | None = None
        self._bare = False

    def receive(self, frame: memoryview, now_ms: int) -> Outcome:
        if self._state is _State.EXCHANGE and self._bare:
            return self._bare_token(bytes(frame), now_ms)
        prefix = read_request_prefix(frame)
        key = prefix.api_key
        if key == ApiKey.API_VERSIONS and self._state is _State.START:
            # An unknown version and an invalid name are answered with an error, and the client may
            # ask again.
            version = prefix.api_version
            if version in stable_versions(ApiKey.API_VERSIONS) and software_is_valid(_decoded(ApiKey.API_VERSIONS, prefix, frame), version):
                self._state = _State.VERSIONS_KNOWN
            return PassOn()
        if key == ApiKey.SASL_HANDSHAKE and self._state is not _State.EXCHANGE:
            return self._handshake(prefix, frame)
        if key == ApiKey.SASL_AUTHENTICATE and self._state is _State.EXCHANGE:
            return self._token(prefix, frame, now_ms)
        if self._state is _State.EXCHANGE:
            return Misplaced(f"API {key} came in the middle of an authentication")
        return Closed(f"API {key} came before authentication was complete")

    def _handshake(self, prefix: RequestPrefix, frame: memoryview) -> Outcome:
        request = _decoded(ApiKey.SASL_HANDSHAKE, prefix, frame)
        chosen = self._mechanisms.get(request.mechanism)
        offered = sorted(self._mechanisms)
        if chosen is None:
            answer = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered)
            return Refused(f"the mechanism {request.mechanism[:50]!r} is not enabled", _answer(ApiKey.SASL_HANDSHAKE, prefix, answer))
        self._name, self._exchange = request.mechanism, chosen.exchange()
        self._bare = prefix.api_version == 0
        self._state = _State.EXCHANGE
        return Reply(_answer(ApiKey.SASL_HANDSHAKE, prefix, SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=offered)))

    def _token(self, prefix: RequestPrefix, frame: memoryview, now_ms: int) -> Outcome:
        request = _decoded(ApiKey.SASL_AUTHENTICATE, prefix, frame)

        def answer(token: bytes = b"", error: ErrorCode = ErrorCode.NONE, message: str | None = None, lifetime_ms: int = 0) -> OutFrame:
            response = SaslAuthenticateResponse(error_code=error, error_message=message, auth_bytes=token, session_lifetime_ms=lifetime_ms)
            return _answer(ApiKey.SASL_AUTHENTICATE, prefix, response)

        def settle(step: Settled) -> Reply | Accepted | Refused:
            match self._checked(step, now_ms):
                case Challenge(token):
                    return Reply(answer(token))
                case Authenticated() as done:
                    session = self._session(done, now_ms, may_reauthenticate=prefix.api_version >= 1)
                    return Accepted(answer(done.token, lifetime_ms=session.lifetime_ms or 0), session)
                case Failed(message, reason):
                    return Refused(reason or message, answer(error=ErrorCode.SASL_AUTHENTICATION_FAILED, message=message))

        return _settled(self._next_step(bytes(request.auth_bytes)), settle)

    def _bare_token(self, token: bytes, now_ms: int) -> Outcome:
        def settle(step: Settled) -> Reply | Accepted | Refused:
            match self._checked(step, now_ms):
                case Challenge(answer):
                    return Reply(_bare(answer))
                case Authenticated() as done:
                    return Accepted(_bare(done.token), self._session(done, now_ms, may_reauthenticate=False))
                case Failed(message, reason):
                    return Refused(reason or message)

        return _settled(self._next_step(token), settle)

    def _next_step(self, token: bytes) -> Step:
        assert self._exchange is not None
        previous = self._previous
        if previous is not None and self._name != previous.mechanism:
            return Failed(f"SASL mechanism '{self._name}' requested by client is not the one of the connection")
        return self._exchange.step(token)

    def _checked(self, step: Settled, now_ms: int) -> Settled:
        if isinstance(step, Authenticated) and step.expires_ms is not None and step.expires_ms <= now_ms:
            # A session lifetime of 0 would tell the client that the session never ends.
            return Failed("Authentication failed: the credentials have expired")
        previous = self._previous
        if previous is not None and isinstance(step, Authenticated) and step.principal != previous.principal:
            return Failed("Cannot change principals during re-authentication")
        return step

    def _session(self, done: Authenticated, now_ms: int, *, may_reauthenticate: bool) -> Session:
        limits = [self._mechanisms[self._name].session_ms_max] if self._mechanisms[self._name].session_ms_max > 0 else []
        if done.expires_ms is not None:
            limits.append(max(0, done.expires_ms - now_ms))
        return Session(self._name, done.principal, min(limits, default=None), may_reauthenticate)


def _settled(step: Step, settle: Callable[[Settled], Reply | Accepted | Refused]) -> Outcome:
    return Working(step.work, settle) if isinstance(step, Blocking) else settle(step)


def _decoded(key: ApiKey, prefix: RequestPrefix, frame: memoryview) -> Any:
    if prefix.api_version not in stable_versions(key):
        raise MalformedMessage(f"{key.api_name} has versions {stable_versions(key)}, not {prefix.api_version}")
    request = messages(key)[0]
    position = prefix.position
    try:
        if request_header_version(request, prefix.api_version) == 2:
            position = skip_tagged_fields(frame, position, len(frame))
        return decoder(request, prefix.api_version)(frame, position)[0]
    except DECODE_ERRORS as error:
        raise MalformedMessage(f"{key.api_name} v{prefix.api_version} cannot be read: {error}") from error


def _answer(key: ApiKey, prefix: RequestPrefix, response: Any) -> OutFrame:
    out = OutFrame(_CORRELATION_ID_BYTES)
    out += prefix.correlation_id.to_bytes(_CORRELATION_ID_BYTES, "big", signed=True)
    kind = messages(key)[1]
    if response_header_version(kind, prefix.api_version) == 1:
        out.append(0)
    encoder(kind, prefix.api_version)(response, out)
    out.seal()
    return out


def _bare(token: bytes) -> OutFrame:
    out = OutFrame(_CORRELATION_ID_BYTES)
    out += token
    out.seal()
    return out
