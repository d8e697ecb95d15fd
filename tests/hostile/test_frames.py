"""Bytes that are not requests: invalid lengths, other protocols, partial frames, false counts.

The broker closes the connection of a peer that does not speak Kafka's protocol, and allocates
nothing for announced lengths.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import decode, encode
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.varint import write_uvarint
from tests.hostile.conftest import Victim
from tests.scenarios.client import FETCH_BY_NAME, fetch_request, frame_of

VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header(key: int, version: int, *, correlation_id: int = 7, client_id: bytes | None = b"h", tags: bytes = b"") -> bytes:
    start = struct.pack(">hhih", key, version, correlation_id, -1 if client_id is None else len(client_id))
    return start + (client_id or b"") + tags


# -- lengths of frames


@pytest.mark.parametrize("length", [0, -1, -(2**31), 2**31 - 1, 104_857_601, 2**30])
def test_an_invalid_frame_length_closes_the_connection(victim: Victim, length: int) -> None:
    with victim.client() as client:
        client.send_bytes(struct.pack(">i", length) + b"x" * 100)
        assert client.hung_up()


def test_announcing_the_largest_frame_allocates_nothing(victim: Victim) -> None:
    """A hundred peers that announce 100 MiB each and send a few bytes of it."""
    peers = [victim.client() for _ in range(100)]
    for peer in peers:
        peer.send_bytes(struct.pack(">i", 104_857_600) + header(0, 9) + b"x" * 1000)
    with victim.client() as client:
        client.probe()
    for peer in peers:
        peer.close()


def test_the_largest_frame_is_read_and_refused(victim: Victim) -> None:
    """100 MiB that begin like a request for an unknown API."""
    with victim.client() as client:
        body = header(999, 0)
        client.send_bytes(struct.pack(">i", 104_857_600) + body)
        chunk = bytes(1 << 20)
        left = 104_857_600 - len(body)
        while left:
            client.send_bytes(chunk[:left])
            left -= min(left, len(chunk))
        assert client.hung_up()


def test_a_request_before_an_invalid_length_is_answered_first(victim: Victim) -> None:
    with victim.client() as client:
        client.send_bytes(frame_of(VERSIONS, 3) + struct.pack(">i", -5))
        assert client.receive(VERSIONS, 3)[1].error_code == 0
        assert client.hung_up()


# -- other protocols

CLIENT_HELLO = bytes.fromhex("1603010200010001fc0303") + bytes(range(32)) + bytes.fromhex("20") + bytes(460)
OTHERS = {
    "http": b"GET / HTTP/1.1\r\nHost: kafka\r\nUser-Agent: curl/8\r\n\r\n",
    "http post": b"POST /topics/t HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
    "tls": CLIENT_HELLO,
    "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
    "redis": b"*1\r\n$4\r\nPING\r\n",
    "amqp": b"AMQP\x00\x00\x09\x01",
    "zeros": bytes(4096),
    "ones": b"\xff" * 4096,
    "text": b"hello\n" * 1000,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_protocols_close_the_connection(victim: Victim, name: str) -> None:
    with victim.client() as client:
        client.send_bytes(OTHERS[name])
        assert client.hung_up()


def test_random_bytes_are_never_answered(victim: Victim) -> None:
    """A broker may wait for the rest of a random frame, but neither answers it nor fails."""
    chance = random.Random(1)
    for _ in range(200):
        with victim.client() as client:
            client.send_bytes(chance.randbytes(chance.randrange(1, 3000)))
    for _ in range(200):
        with victim.client() as client:
            client.send_bytes(framed(chance.randbytes(chance.randrange(1, 3000))))
            assert client.hung_up()


# -- requests in pieces


def test_requests_split_at_any_byte_are_answered(victim: Victim) -> None:
    request = fetch_request([("t", 0, 0)])
    frames = frame_of(VERSIONS, 3, correlation_id=1) + frame_of(request, FETCH_BY_NAME, correlation_id=2)
    with victim.client() as client:
        for cut in range(1, len(frames)):
            client.send_bytes(frames[:cut])
            client.send_bytes(frames[cut:])
            assert client.receive(VERSIONS, 3)[0] == 1
            assert client.receive(request, FETCH_BY_NAME)[0] == 2


def test_requests_sent_byte_by_byte_are_answered(victim: Victim) -> None:
    frames = frame_of(VERSIONS, 3, correlation_id=1) + frame_of(MetadataRequest(topics=None), 12, correlation_id=2)
    with victim.client() as client:
        for byte in frames:
            client.send_bytes(bytes([byte]))
        assert client.receive(VERSIONS, 3)[0] == 1
        assert client.receive(MetadataRequest(topics=None), 12)[0] == 2


def test_slow_peers_delay_no_other_client(victim: Victim) -> None:
    """Three hundred peers, each in the middle of a frame and slow, and one that works normally."""
    frame = frame_of(VERSIONS, 3)
    peers = [victim.client() for _ in range(300)]
    for turn in range(4):
        for peer in peers:
            peer.send_bytes(frame[turn : turn + 1])
        before = victim.worked_seconds()
        with victim.client() as client:
            client.probe()
        assert victim.worked_seconds() - before < 5
    for peer in peers:
        peer.send_bytes(frame[4:])
        assert peer.receive(VERSIONS, 3)[1].error_code == 0
        peer.close()


def test_a_peer_may_leave_in_the_middle_of_a_frame(victim: Victim) -> None:
    frame = frame_of(fetch_request([("t", 0, 0)]), FETCH_BY_NAME)
    for cut in range(len(frame)):
        with victim.client() as client:
            client.send_bytes(frame[:cut])


# -- false headers


@pytest.mark.parametrize("key", [-32768, -1, 4, 5, 6, 7, 93, 1000, 32767])
@pytest.mark.parametrize("version", [0, 3, -1])
def test_an_unknown_api_closes_the_connection(victim: Victim, key: int, version: int) -> None:
    with victim.client() as client:
        client.send_bytes(framed(header(key, version) + bytes(20)))
        assert client.hung_up()


def served() -> list[ApiKey]:
    from barnabas.api.broker_apis import BROKER_HANDLERS

    return sorted(BROKER_HANDLERS)


@pytest.mark.parametrize("key", [key for key in served() if key is not ApiKey.API_VERSIONS], ids=lambda key: key.name.lower())
def test_a_version_that_was_not_offered_closes_the_connection(victim: Victim, key: ApiKey) -> None:
    lowest, highest = stable_versions(key)
    for version in (lowest - 1, highest + 1, -1, 32767, -32768):
        with victim.client() as client:
            client.send_bytes(framed(header(key, version) + bytes(40)))
            assert client.hung_up(), version


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(victim: Victim, version: int) -> None:
    with victim.client() as client:
        client.send_bytes(framed(header(ApiKey.API_VERSIONS, version) + b"whatever the future may bring"))
        frame = client.receive_frame()
        response, end = decode(ApiVersionsResponse, 0, frame, 4)
        assert (frame[:4], end) == (struct.pack(">i", 7), len(frame))
        assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
        (offered,) = response.api_keys
        assert (offered.api_key, offered.min_version, offered.max_version) == (18, 0, 4)
        # Asked again in an offered version, on the same connection, it answers.
        client.probe()


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a-", "x\n", "\x00", "\N{SNOWMAN}"])
def test_an_invalid_client_software_name_is_refused(victim: Victim, name: str) -> None:
    with victim.client() as client:
        error = ApiVersionsRequest(client_software_name=name, client_software_version="1")
        assert client.ask(error, 3).error_code == ErrorCode.INVALID_REQUEST
        client.probe()


@pytest.mark.parametrize("cut", range(1, 10))
def test_a_short_header_closes_the_connection(victim: Victim, cut: int) -> None:
    with victim.client() as client:
        client.send_bytes(framed(header(3, 12, client_id=None)[:cut]))
        assert client.hung_up()


@pytest.mark.parametrize(
    "broken",
    [
        struct.pack(">hhih", 3, 12, 7, 32767),
        struct.pack(">hhih", 3, 12, 7, 5) + b"four",
        struct.pack(">hhih", 3, 12, 7, 2) + b"\xff\xfe\x00\x00",
        header(3, 12, tags=b"\xff\xff\xff\xff\x0f"),
        header(3, 12, tags=b"\x01\x00\xff\xff\xff\xff\x07"),
        header(3, 12, tags=b"\x80\x80\x80\x80\x80\x80\x80\x01"),
        header(3, 12),
    ],
    ids=["long client id", "cut client id", "not utf-8", "many tags", "a huge tag", "an endless number", "no tags"],
)
def test_a_header_with_a_false_length_closes_the_connection(victim: Victim, broken: bytes) -> None:
    with victim.client() as client:
        client.send_bytes(framed(broken))
        assert client.hung_up()


def test_the_longest_client_id_is_accepted(victim: Victim) -> None:
    with victim.client() as client:
        client.send_bytes(frame_of(VERSIONS, 3, client_id="i" * 32767))
        assert client.receive(VERSIONS, 3)[1].error_code == 0


# -- lengths inside requests

UVARINTS = {
    "2^32-1": b"\xff\xff\xff\xff\x0f",
    "2^31": b"\x80\x80\x80\x80\x08",
    "2^31-1": b"\xff\xff\xff\xff\x07",
    "2^28": b"\x80\x80\x80\x80\x01",
    "of six bytes": b"\xff\xff\xff\xff\xff\x01",
    "of eleven bytes": b"\xff" * 10 + b"\x01",
    "without an end": b"\xff" * 40,
}
INT32S = {"-2": -2, "-2^31": -(2**31), "2^31-1": 2**31 - 1, "10^8": 10**8, "one too many": 2}


@pytest.mark.parametrize("number", UVARINTS)
@pytest.mark.parametrize(
    "begin",
    [
        header(ApiKey.METADATA, 12, tags=b"\x00"),  # the array of topics
        # The name of the first topic.
        header(ApiKey.METADATA, 12, tags=b"\x00") + b"\x02" + bytes(16),
        header(ApiKey.CREATE_TOPICS, 7, tags=b"\x00"),
        header(ApiKey.FETCH, 12, tags=b"\x00") + bytes(25),
        header(ApiKey.PRODUCE, 9, tags=b"\x00") + b"\x00" + bytes(6),
        # The records.
        header(ApiKey.PRODUCE, 9, tags=b"\x00") + b"\x00" + bytes(6) + b"\x02\x02t\x02" + bytes(4),
        header(ApiKey.DESCRIBE_CONFIGS, 4, tags=b"\x00"),
    ],
    ids=["topics", "name", "create", "fetch", "produce", "records", "resources"],
)
def test_a_false_compact_length_closes_the_connection(victim: Victim, begin: bytes, number: str) -> None:
    with victim.client() as client:
        client.send_bytes(framed(begin + UVARINTS[number] + bytes(8)))
        assert client.hung_up()


@pytest.mark.parametrize("number", INT32S)
@pytest.mark.parametrize(
    "begin",
    [
        header(ApiKey.METADATA, 8),
        header(ApiKey.CREATE_TOPICS, 4),
        header(ApiKey.PRODUCE, 8) + b"\xff\xff" + bytes(6),
        header(ApiKey.DELETE_TOPICS, 3),
        header(ApiKey.FETCH, 11) + bytes(25),
    ],
    ids=["topics", "create", "produce", "delete", "fetch"],
)
def test_a_false_array_length_closes_the_connection(victim: Victim, begin: bytes, number: str) -> None:
    with victim.client() as client:
        client.send_bytes(framed(begin + struct.pack(">i", INT32S[number]) + b"\x00"))
        assert client.hung_up()


@pytest.mark.parametrize("length", [-2, -32768, 32767, 30])
def test_a_false_string_length_closes_the_connection(victim: Victim, length: int) -> None:
    with victim.client() as client:
        client.send_bytes(framed(header(ApiKey.METADATA, 8) + struct.pack(">ih", 1, length) + b"short" + bytes(3)))
        assert client.hung_up()


def test_null_where_it_is_not_allowed_closes_the_connection(victim: Victim) -> None:
    with victim.client() as client:
        client.send_bytes(framed(header(ApiKey.CREATE_TOPICS, 7, tags=b"\x00") + b"\x00" + bytes(6)))
        assert client.hung_up()


def test_names_that_are_not_utf_8_close_the_connection(victim: Victim) -> None:
    with victim.client() as client:
        client.send_bytes(framed(header(ApiKey.METADATA, 8) + struct.pack(">ih", 1, 3) + b"\xff\xfe\xfd" + bytes(3)))
        assert client.hung_up()


def truncations(make: Callable[[], Any], version: int) -> list[bytes]:
    request = make()
    body = encode(request, version)
    key = {cls: key for key in ApiKey for cls in messages(key)[:1]}[type(request)]
    begin = header(key, version, tags=b"\x00")
    return [begin + body[:cut] for cut in range(len(body))]


def test_truncated_requests_close_the_connection(victim: Victim) -> None:
    """Cut at every byte of a body; the broker only closes the connection."""
    whole: list[tuple[Callable[[], Any], int]] = [
        (lambda: fetch_request([("t", 0, 0), ("u", 1, 2)]), FETCH_BY_NAME),
        (lambda: MetadataRequest(topics=None), 12),
        (lambda: CreateTopicsRequest(topics=[]), 7),
        (lambda: DeleteTopicsRequest(topics=[], timeout_ms=0), 6),
    ]
    for make, version in whole:
        for body in truncations(make, version):
            with victim.client() as client:
                client.send_bytes(framed(body))
                assert client.hung_up()


def test_bytes_behind_a_request_are_ignored(victim: Victim) -> None:
    """Kafka ignores them."""
    with victim.client() as client:
        frame = frame_of(VERSIONS, 3)[4:] + b"and then some"
        client.send_bytes(framed(frame))
        assert client.receive(VERSIONS, 3)[1].error_code == 0


def test_millions_of_tagged_fields_close_the_connection_and_cost_nothing(victim: Victim) -> None:
    count = bytearray()
    write_uvarint(count, 5_000_000)
    worked = victim.worked_seconds()
    with victim.client() as client:
        client.send_bytes(framed(header(ApiKey.API_VERSIONS, 3, tags=bytes(count) + b"\x05\x00" * 5_000_000) + encode(VERSIONS, 3)))
        assert client.hung_up()
    assert victim.worked_seconds() - worked < 0.3


def test_unknown_tagged_fields_are_skipped(victim: Victim) -> None:
    with victim.client() as client:
        body = header(ApiKey.FETCH, FETCH_BY_NAME, tags=b"\x01\x63\x03abc") + encode(fetch_request([("t", 0, 0)]), FETCH_BY_NAME)
        # The last byte is the empty tagged section of the request itself.
        client.send_bytes(framed(body[:-1] + b"\x02\x7e\x01x\x7f\x00"))
        assert client.receive(FetchRequest(max_wait_ms=0, min_bytes=0, topics=[]), FETCH_BY_NAME)[1].error_code == 0
