"""One connection to another node: requests out, responses in, in the same order.

It begins with ApiVersions; from then on every request uses the highest version that both sides
know. Where the listener has SASL, this node logs in next. The peer is not trusted: a response with
another correlation id than that of the oldest request, a response that does not decode, and a frame
that is too large end the connection, and all waiting calls fail.

Connecting and retrying are not here: see :mod:`~barnabas.network.peers`.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version as package_version
from typing import Any, NamedTuple, cast

from barnabas.env.descriptors import descriptors
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.security.sasl.exchange import ClientExchange, ServerRefused
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, FieldNotInVersion, decoder, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.frames import FrameReader, OutFrame, ReceiveBuffer
from barnabas.wire.headers import request_header_version, response_header_version
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields
from barnabas.wire.versions import Versions

# Twice the largest request of a node: the largest responses are fetches, and one batch may exceed
# the fetch's own limit.
ANSWER_BYTES_MAX = 2 * 104_857_600
_HEADER = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_ERROR_CODE = struct.Struct(">h")
_CORRELATION_IDS = 2**31
SOFTWARE_NAME = "barnabas"
try:
    SOFTWARE_VERSION = package_version("barnabas")
except PackageNotFoundError:  # run from a source tree that was never installed
    SOFTWARE_VERSION = "0"


class Call:
    """A request and the promise of its response. It is settled once; later outcomes are ignored."""

    __slots__ = ("abandoned", "answer", "request", "timer", "version_max")

    def __init__(self, request: Any, version_max: int | None) -> None:
        self.request = request
        self.version_max = version_max
        self.answer: Promise[Any] = Promise()
        self.timer: asyncio.TimerHandle | None = None
        self.abandoned = False
        self.answer.if_abandoned(self._abandon)

    @property
    def unwanted(self) -> bool:
        """No caller waits for the response: it timed out or was abandoned."""
        return self.abandoned or self.answer.done

    def settle(self, outcome: Any) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if not self.unwanted:
            self.answer.resolve(outcome)

    def _abandon(self) -> None:
        self.abandoned = True


class _Expected:
    """A response that has not arrived yet."""

    __slots__ = ("call", "correlation_id", "response", "version")

    def __init__(self, call: Call, correlation_id: int, response: type[Any], version: int) -> None:
        self.call = call
        self.correlation_id = correlation_id
        self.response = response
        self.version = version


class Login(NamedTuple):
    """How this node authenticates to others."""

    mechanism: str
    # By the host of the peer. A token or a ticket may have to be fetched first.
    exchange: Callable[[str], Promise[ClientExchange | LoginFailed]]


class LoginFailed(NamedTuple):
    """This node has no credential for the peer."""

    reason: str


# A session that ends is replaced after this part of its life, as Java's clients do.
SESSION_PART_USED = 0.85


class PeerConnection(asyncio.BufferedProtocol):
    def __init__(
        self,
        buffer: ReceiveBuffer,
        client_id: str,
        *,
        on_ready: Callable[[], None],
        on_lost: Callable[[str], None],
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        host: str = "",
        login: Login | None = None,
    ) -> None:
        """``on_ready`` is called once requests may be sent; ``on_lost`` once with the
        reason, at the end. ``host`` is the peer's name, as this node knows it.
        """
        self._reader = FrameReader(buffer, answer_bytes_max)
        self._client_id = client_id.encode()
        self._on_ready = on_ready
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._expected: deque[_Expected] = deque()
        self._next_id = 0
        self._fault: str | None = None
        self._counted = False
        self._host = host
        self._login = login
        # Whether requests could be sent at some time.
        self.became_ready = False
        # The loop's time at which the session should be replaced; None if it does not end.
        self.retires_at: float | None = None
        self._retired = False
        # None until the peer has sent them.
        self.versions: dict[int, Versions] | None = None
        # Whether the peer has answered any request besides those of the beginning.
        self.useful = False

    @property
    def open(self) -> bool:
        """Whether requests may be sent: the peer has sent its versions and accepted this node, and
        neither side has closed.
        """
        return self.became_ready and self._fault is None and self._transport is not None and not self._transport.is_closing()

    @property
    def unanswered(self) -> int:
        return len(self._expected)

    # -- asking

    def send(self, call: Call) -> None:
        request = type(call.request)
        version = self._version_for(request, call.version_max)
        if version is None:
            call.settle(ErrorCode.UNSUPPORTED_VERSION)
        else:
            self._send(call, version)

    def _version_for(self, request: type[Any], version_max: int | None) -> int | None:
        assert self.versions is not None, "no request is sent before the peer's versions are known"
        key = declaration_of(request).key
        assert key is not None
        offered = self.versions.get(key)
        if offered is None:
            return None
        lowest, highest = stable_versions(ApiKey(key))
        highest = min(highest, offered.highest, highest if version_max is None else version_max)
        return highest if highest >= max(lowest, offered.lowest) else None

    def _send(self, call: Call, version: int) -> None:
        request = type(call.request)
        key = declaration_of(request).key
        assert key is not None
        correlation_id = self._next_id
        frame = OutFrame(4)
        frame += _HEADER.pack(key, version, correlation_id, len(self._client_id))
        frame += self._client_id
        if request_header_version(request, version) == 2:
            frame.append(0)
        try:
            encoder(request, version)(call.request, frame)
        except FieldNotInVersion:
            call.settle(ErrorCode.UNSUPPORTED_VERSION)
            return
        frame.seal()
        if self._transport is None or self._transport.is_closing():
            call.settle(ErrorCode.NETWORK_EXCEPTION)
            return
        self._next_id = (correlation_id + 1) % _CORRELATION_IDS
        self._expected.append(_Expected(call, correlation_id, messages(ApiKey(key))[1], version))
        self._transport.write(frame)

    def timed_out(self, call: Call) -> None:
        """Settle a call that timed out. If it is the oldest, its response may never come and would
        delay all others, so the connection ends.

        A call behind a slower request is only settled, and its response is dropped when it comes.
        """
        call.settle(ErrorCode.REQUEST_TIMED_OUT)
        if self._expected and self._expected[0].call is call:
            self.close("no answer in time")

    # -- being answered

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods of asyncio.Transport without inheriting from it.
        self._transport = cast(asyncio.Transport, transport)
        self._counted = True
        descriptors.add()
        if self._fault is not None:
            self._transport.abort()
            return
        self._send_api_versions(stable_versions(ApiKey.API_VERSIONS).highest)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.target

    def buffer_updated(self, size_bytes: int) -> None:
        for frame in self._reader.received(size_bytes):
            if self._fault is not None:
                return
            try:
                self._answered(frame)
            except MalformedMessage as error:
                self.close(str(error))
                return
        if self._reader.fault is not None:
            self.close(self._reader.fault)

    def _answered(self, frame: memoryview) -> None:
        if not self._expected:
            raise MalformedMessage("a response without a request")
        expected = self._expected[0]
        if len(frame) < _CORRELATION_ID.size:
            raise MalformedMessage(f"a response of {len(frame)} bytes")
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
        if correlation_id != expected.correlation_id:
            raise MalformedMessage(f"a response to request {correlation_id} instead of {expected.correlation_id}")
        call = expected.call
        if expected.response is ApiVersionsResponse and self.versions is None:
            outcome: Any = _read_api_versions(frame, expected.version)
        else:
            self.useful = self.useful or self.became_ready
            outcome = None if call.unwanted else _read_answer(frame, expected)
        # Removed only now: a request whose response could not be read must be among those that
        # fail.
        self._expected.popleft()
        call.settle(outcome)
        if self._retired:
            self.retire()

    # -- ApiVersions

    def _send_api_versions(self, version: int) -> None:
        call = Call(ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION), None)
        call.answer.then(lambda answer: self._receive_api_versions(answer, version))
        self._send(call, version)

    def _receive_api_versions(self, answer: ApiVersionsResponse | ErrorCode, version: int) -> None:
        if isinstance(answer, ErrorCode):
            return
        offered = {each.api_key: Versions(each.min_version, each.max_version) for each in answer.api_keys}
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and version > 0:
            # An older node answers in version 0 with the versions that it supports.
            known = offered.get(ApiKey.API_VERSIONS, Versions(0, 0))
            self._send_api_versions(max(0, min(version - 1, known.highest)))
        elif answer.error_code != ErrorCode.NONE:
            self.close(f"ApiVersions was answered with error {answer.error_code}")
        else:
            self.versions = offered
            if self._login is None:
                self._become_ready()
            else:
                self._log_in(self._login)

    def _become_ready(self) -> None:
        self.became_ready = True
        self._on_ready()

    # -- SASL

    def _log_in(self, login: Login) -> None:
        def chosen(answer: SaslHandshakeResponse | ErrorCode) -> None:
            if isinstance(answer, ErrorCode):
                self.close("the peer does not answer SaslHandshake")
            elif answer.error_code != ErrorCode.NONE:
                self.close(f"the peer accepts {', '.join(answer.mechanisms)}, and not {login.mechanism}")
            else:
                login.exchange(self._host).then(begin)

        def begin(exchange: ClientExchange | LoginFailed) -> None:
            if isinstance(exchange, LoginFailed):
                self.close(exchange.reason)
            elif self._fault is None:
                self._authenticate(exchange, exchange.first())

        call = Call(SaslHandshakeRequest(mechanism=login.mechanism), None)
        call.answer.then(chosen)
        self.send(call)

    def _authenticate(self, exchange: ClientExchange, token: bytes) -> None:
        def answered(answer: SaslAuthenticateResponse | ErrorCode) -> None:
            if isinstance(answer, ErrorCode):
                self.close("the peer does not answer SaslAuthenticate")
                return
            if answer.error_code != ErrorCode.NONE:
                self.close(f"the peer refused this node: {answer.error_message}")
                return
            try:
                following = exchange.step(bytes(answer.auth_bytes))
            except ServerRefused as error:
                self.close(str(error))
                return
            if following is not None:
                self._authenticate(exchange, following)
                return
            if answer.session_lifetime_ms > 0:
                lifetime = answer.session_lifetime_ms / 1000 * SESSION_PART_USED
                self.retires_at = asyncio.get_running_loop().time() + lifetime
            self._become_ready()

        call = Call(SaslAuthenticateRequest(auth_bytes=token), None)
        call.answer.then(answered)
        self.send(call)

    # -- the end

    def _give_descriptor_back(self) -> None:
        if self._counted:
            self._counted = False
            descriptors.give_back()

    def retire(self) -> None:
        """Close the connection after its last response. No request is sent from now on."""
        self._retired = True
        if not self._expected:
            self.close("the session is nearly over")

    def close(self, reason: str) -> None:
        """Close the connection and fail all waiting calls. It does not wait, because nothing is
        left to send to the peer.
        """
        # The loop may end before the transport does.
        self._give_descriptor_back()
        if self._fault is None:
            self._fault = reason
            self._fail_all()
        if self._transport is not None:
            self._transport.abort()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._give_descriptor_back()
        self._transport = None
        reason = self._fault or (str(error) if error is not None else "the peer closed the connection")
        self._fault = reason
        self._fail_all()
        self._on_lost(reason)

    def _fail_all(self) -> None:
        expected, self._expected = self._expected, deque()
        for each in expected:
            each.call.settle(ErrorCode.NETWORK_EXCEPTION)


def _read_api_versions(frame: memoryview, version: int) -> Any:
    """The version is only known from the error: a node that does not support ours answers in
    version 0.
    """
    if len(frame) < _CORRELATION_ID.size + _ERROR_CODE.size:
        raise MalformedMessage(f"a response of {len(frame)} bytes to ApiVersions")
    if _ERROR_CODE.unpack_from(frame, _CORRELATION_ID.size)[0] == ErrorCode.UNSUPPORTED_VERSION:
        version = 0
    return _decode(ApiVersionsResponse, version, frame, _CORRELATION_ID.size)


def _read_answer(frame: memoryview, expected: _Expected) -> Any:
    position = _CORRELATION_ID.size
    if response_header_version(expected.response, expected.version) == 1:
        try:
            position = skip_tagged_fields(frame, position, len(frame))
        except DECODE_ERRORS as error:
            raise MalformedMessage(f"header of a response: {error}") from error
    return _decode(expected.response, expected.version, frame, position)


def _decode(response: type[Any], version: int, frame: memoryview, position: int) -> Any:
    try:
        return decoder(response, version)(frame, position)[0]
    except (*DECODE_ERRORS, OverflowError, MemoryError) as error:
        raise MalformedMessage(f"{response.__name__} v{version} cannot be read: {error}") from error
