"""Finds out what listens at an address, before a client is made.

librdkafka retries for as long as a request may take when the other side is no broker. This module
asks instead: one ApiVersions request, which every broker answers before any login, over TLS if the
client uses it. A broker's answer ends the probe after one round trip.

Any other answer is worth a sentence. After a second of silence, further connections try what the
server seems to be: a web server answers ``HEAD``, and a TLS server answers a TLS
greeting. A server that only waits is not Kafka either; it has :data:`SILENCE_SECONDS_MAX` to say
something.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

# A broker on the same continent accepts in a fraction of this.
CONNECT_SECONDS_MAX: Final = 5.0
# ApiVersions waits for nothing in a broker, so a broker that is this late is in trouble.
SILENCE_SECONDS_MAX: Final = 3.0
# A broker that has not answered by then is late, or no broker, and the guesses begin.
_SUSPICION_SECONDS: Final = 1.0
# For each guess. Web servers answer at once.
_GUESS_SECONDS_MAX: Final = 0.5

_CORRELATION_ID: Final = 0x42415242
_CLIENT_ID: Final = b"barnabas-cli"
_BODY: Final = struct.pack(">hhih", 18, 0, _CORRELATION_ID, len(_CLIENT_ID)) + _CLIENT_ID
_API_VERSIONS: Final = struct.pack(">i", len(_BODY)) + _BODY
_LENGTH_AND_ID: Final = struct.Struct(">ii")
# All API keys with their versions need a few hundred bytes.
_ANSWER_BYTES_MAX: Final = 64 * 1024
_TLS_ALERT: Final = b"\x15\x03"
_TLS_HANDSHAKE: Final = b"\x16\x03"
# The smallest greeting that TLS servers parse: TLS 1.2 with one cipher and no extension. Most
# servers refuse it, and the refusal is a TLS record too.
_HELLO: Final = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\xc0\x2f" + b"\x01\x00"
_TLS_GREETING: Final = _TLS_HANDSHAKE + b"\x01" + struct.pack(">H", len(_HELLO) + 4) + b"\x01" + len(_HELLO).to_bytes(3, "big") + _HELLO
_HTTP_REQUEST: Final = b"HEAD / HTTP/1.0\r\n\r\n"


class NotABroker(Exception):
    """The text says what listens instead, as the rest of a sentence that begins with the
    address."""


def probe(place: tuple[str, int], *, tls: bool) -> None:
    """Returns when a broker answers. Raises ``OSError`` when no connection can be made, and
    :class:`NotABroker` when another server answers, or none."""
    with socket.create_connection(place, timeout=CONNECT_SECONDS_MAX) as connection:
        connection.settimeout(SILENCE_SECONDS_MAX)
        if tls:
            _greet(connection, place)
        else:
            _ask(connection, place)


def _ask(connection: socket.socket, place: tuple[str, int]) -> None:
    with suppress(ConnectionError):
        connection.sendall(_API_VERSIONS)
    suspicion_seconds = min(_SUSPICION_SECONDS, SILENCE_SECONDS_MAX)
    answer = _receive(connection, _LENGTH_AND_ID.size, suspicion_seconds)
    if _is_api_versions(answer):
        return
    if (other := _guess(answer, place)) is not None:
        raise NotABroker(other)
    answer += _receive(connection, _LENGTH_AND_ID.size - len(answer), SILENCE_SECONDS_MAX - suspicion_seconds)
    if _is_api_versions(answer):
        return
    raise NotABroker(
        f"is not a Kafka broker: its answer begins with {answer!r}"
        if answer
        else f"takes connections, but does not answer like a Kafka broker within {SILENCE_SECONDS_MAX:g} seconds"
    )


def _is_api_versions(answer: bytes) -> bool:
    if len(answer) < _LENGTH_AND_ID.size:
        return False
    length, correlation_id = _LENGTH_AND_ID.unpack(answer)
    return bool(correlation_id == _CORRELATION_ID and 0 < length <= _ANSWER_BYTES_MAX)


def _guess(answer: bytes, place: tuple[str, int]) -> str | None:
    if answer.startswith(b"HTTP/") or (not answer and _answers(place, _HTTP_REQUEST, b"HTTP/".__eq__)):
        return "is a web server (it speaks HTTP), not a Kafka broker"
    if _is_tls(answer) or (not answer and _answers(place, _TLS_GREETING, _is_tls)):
        return "expects TLS, but this client does not use it: set security.protocol to ssl or sasl_ssl"
    return None


def _greet(connection: socket.socket, place: tuple[str, int]) -> None:
    """librdkafka checks the certificates later; here only a TLS server has to answer. A server that
    refuses our greeting, for example because we show no certificate, is a TLS server."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        context.wrap_socket(connection, server_hostname=place[0]).close()
    except ssl.SSLError as error:
        # Versions of Python differ in the error for a connection that the server closes.
        closed = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        if closed or error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING"):
            raise NotABroker(_without_tls(place)) from error
    except (TimeoutError, ConnectionError) as error:
        raise NotABroker(_without_tls(place)) from error


def _without_tls(place: tuple[str, int]) -> str:
    if _answers(place, _API_VERSIONS, lambda begin: len(begin) == len(b"HTTP/") and begin[:2] == b"\x00\x00"):
        return "is a broker without TLS, but security.protocol asks for TLS: set it to plaintext or sasl_plaintext"
    if _answers(place, _HTTP_REQUEST, b"HTTP/".__eq__):
        return "is a web server without TLS (it speaks HTTP), not a Kafka broker"
    return f"does not answer a TLS handshake within {SILENCE_SECONDS_MAX:g} seconds"


def _answers(place: tuple[str, int], request: bytes, like: Callable[[bytes], bool]) -> bool:
    try:
        with socket.create_connection(place, timeout=_GUESS_SECONDS_MAX) as connection:
            connection.sendall(request)
            return like(_receive(connection, len(b"HTTP/"), _GUESS_SECONDS_MAX))
    except OSError:
        return False


def _is_tls(begin: bytes) -> bool:
    return begin.startswith((_TLS_ALERT, _TLS_HANDSHAKE))


def _receive(connection: socket.socket, size_bytes: int, seconds_max: float) -> bytes:
    """Fewer bytes when the other side closes the connection or stops in between."""
    deadline = time.monotonic() + seconds_max
    data = b""
    while len(data) < size_bytes:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            part = connection.recv(size_bytes - len(data))
        except (TimeoutError, ConnectionResetError):
            break
        if not part:
            break
        data += part
    return data
