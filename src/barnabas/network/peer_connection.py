"""One connection to another node: requests out, their answers in, in the same order.

It begins by asking ApiVersions; from then on every request goes in the highest version that both sides know. The other side is
not trusted: an answer that is not the oldest request's, one that does not decode and a frame that is too large end the connection,
and everybody who waits for something behind it is told.

No dialling and no retrying here: see :mod:`~barnabas.network.peers`.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version as package_version
from typing import Any, cast

from barnabas.env.descriptors import descriptors
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, FieldNotInVersion, decoder, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.frames import FrameReader, OutFrame, ReceiveBuffer
from barnabas.wire.headers import request_header_version, response_header_version
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields
from barnabas.wire.versions import Versions

# Twice what a node takes in one request: the largest answers are fetches, and one batch may exceed the fetch's own limit.
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
    """A request and who waits for its answer. It is settled once; what comes later is ignored."""

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
        """Nobody would look at an answer: it came too late, or who waited has left."""
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
    """An answer that is to come."""

    __slots__ = ("call", "correlation_id", "response", "version")

    def __init__(self, call: Call, correlation_id: int, response: type[Any], version: int) -> None:
        self.call = call
        self.correlation_id = correlation_id
        self.response = response
        self.version = version


class PeerConnection(asyncio.BufferedProtocol):
    def __init__(
        self,
        buffer: ReceiveBuffer,
        client_id: str,
        *,
        on_ready: Callable[[], None],
        on_lost: Callable[[str], None],
        answer_bytes_max: int = ANSWER_BYTES_MAX,
    ) -> None:
        """``on_ready`` is called once the peer has told its versions; ``on_lost`` once with the reason, at the end."""
        self._reader = FrameReader(buffer, answer_bytes_max)
        self._client_id = client_id.encode()
        self._on_ready = on_ready
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._expected: deque[_Expected] = deque()
        self._next_id = 0
        self._fault: str | None = None
        self._counted = False
        # None until the peer has told.
        self.versions: dict[int, Versions] | None = None
        # Whether the peer ever answered anything but the greeting.
        self.useful = False

    @property
    def open(self) -> bool:
        """Requests may be sent: the peer has told its versions, and nobody has hung up."""
        return self.versions is not None and self._fault is None and self._transport is not None and not self._transport.is_closing()

    @property
    def unanswered(self) -> int:
        return len(self._expected)

    # -- asking ---------------------------------------------------------------------------------------------------------------

    def send(self, call: Call) -> None:
        request = type(call.request)
        version = self._version_for(request, call.version_max)
        if version is None:
            call.settle(ErrorCode.UNSUPPORTED_VERSION)
        else:
            self._send(call, version)

    def _version_for(self, request: type[Any], version_max: int | None) -> int | None:
        assert self.versions is not None, "nothing is sent before the greeting"
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
        """An answer that the oldest request did not get in time may never come, and holds up all behind it: begin again.

        One that is only behind a slower request is forgotten, and its answer dropped when it comes.
        """
        call.settle(ErrorCode.REQUEST_TIMED_OUT)
        if self._expected and self._expected[0].call is call:
            self.close("no answer in time")

    # -- being answered -------------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods of asyncio.Transport without being one.
        self._transport = cast(asyncio.Transport, transport)
        self._counted = True
        descriptors.add()
        if self._fault is not None:
            self._transport.abort()
            return
        self._greet(stable_versions(ApiKey.API_VERSIONS).highest)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.target

    def buffer_updated(self, size_bytes: int) -> None:
        for frame in self._reader.received(size_bytes):
            if self._fault is not None:
                return
            try:
                self._answered(frame)
            except MalformedMessage as wrong:
                self.close(str(wrong))
                return
        if self._reader.fault is not None:
            self.close(self._reader.fault)

    def _answered(self, frame: memoryview) -> None:
        if not self._expected:
            raise MalformedMessage("an answer that nobody asked for")
        expected = self._expected[0]
        if len(frame) < _CORRELATION_ID.size:
            raise MalformedMessage(f"an answer of {len(frame)} bytes")
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
        if correlation_id != expected.correlation_id:
            raise MalformedMessage(f"an answer to request {correlation_id} where that to {expected.correlation_id} was due")
        call = expected.call
        if expected.response is ApiVersionsResponse and self.versions is None:
            outcome: Any = _read_greeting(frame, expected.version)
        else:
            self.useful = True
            outcome = None if call.unwanted else _read_answer(frame, expected)
        # Only now: an answer that could not be read leaves its request among those that are told of the end.
        self._expected.popleft()
        call.settle(outcome)

    # -- the greeting ---------------------------------------------------------------------------------------------------------

    def _greet(self, version: int) -> None:
        greeting = Call(ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION), None)
        greeting.answer.then(lambda answer: self._greeted(answer, version))
        self._send(greeting, version)

    def _greeted(self, answer: ApiVersionsResponse | ErrorCode, version: int) -> None:
        if isinstance(answer, ErrorCode):
            return
        offered = {each.api_key: Versions(each.min_version, each.max_version) for each in answer.api_keys}
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and version > 0:
            # An older node says, in version 0, how far it can follow.
            known = offered.get(ApiKey.API_VERSIONS, Versions(0, 0))
            self._greet(max(0, min(version - 1, known.highest)))
        elif answer.error_code != ErrorCode.NONE:
            self.close(f"the greeting was answered with error {answer.error_code}")
        else:
            self.versions = offered
            self._on_ready()

    # -- the end --------------------------------------------------------------------------------------------------------------

    def _give_descriptor_back(self) -> None:
        if self._counted:
            self._counted = False
            descriptors.give_back()

    def close(self, reason: str) -> None:
        """Hang up, and tell everybody who waits. Nothing is owed to the peer, so nothing is waited for."""
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
        reason = self._fault or (str(error) if error is not None else "the other side hung up")
        self._fault = reason
        self._fail_all()
        self._on_lost(reason)

    def _fail_all(self) -> None:
        expected, self._expected = self._expected, deque()
        for each in expected:
            each.call.settle(ErrorCode.NETWORK_EXCEPTION)


def _read_greeting(frame: memoryview, version: int) -> Any:
    """Which version it is in is only known from its error: a node that does not know ours answers in version 0."""
    if len(frame) < _CORRELATION_ID.size + _ERROR_CODE.size:
        raise MalformedMessage(f"an answer of {len(frame)} bytes to the greeting")
    if _ERROR_CODE.unpack_from(frame, _CORRELATION_ID.size)[0] == ErrorCode.UNSUPPORTED_VERSION:
        version = 0
    return _decode(ApiVersionsResponse, version, frame, _CORRELATION_ID.size)


def _read_answer(frame: memoryview, expected: _Expected) -> Any:
    position = _CORRELATION_ID.size
    if response_header_version(expected.response, expected.version) == 1:
        try:
            position = skip_tagged_fields(frame, position, len(frame))
        except DECODE_ERRORS as wrong:
            raise MalformedMessage(f"header of an answer: {wrong}") from wrong
    return _decode(expected.response, expected.version, frame, position)


def _decode(response: type[Any], version: int, frame: memoryview, position: int) -> Any:
    try:
        return decoder(response, version)(frame, position)[0]
    except (*DECODE_ERRORS, OverflowError, MemoryError) as wrong:
        raise MalformedMessage(f"{response.__name__} v{version} cannot be read: {wrong}") from wrong
