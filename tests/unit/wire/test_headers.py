"""The header of a request is read whole or refused."""

from __future__ import annotations

import pytest

from barnabas.wire.compiler import decode, encode
from barnabas.wire.headers import (
    RequestHeader,
    ResponseHeader,
    read_request_prefix,
    request_header_version,
    response_header_version,
)
from barnabas.wire.messages.api_versions import ApiVersionsResponse
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.tagged_fields import MalformedMessage


def header(client_id: str | None) -> RequestHeader:
    return RequestHeader(request_api_key=19, request_api_version=7, correlation_id=-5, client_id=client_id)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("client_id", [None, "", "console", "\N{SNOWMAN}" * 100])
def test_the_prefix_of_a_request_is_its_header_in_both_versions(version: int, client_id: str | None) -> None:
    frame = encode(header(client_id), version) + b"body"
    prefix = read_request_prefix(memoryview(frame))
    assert prefix[:4] == (19, 7, -5, client_id)
    # In version 2 the tagged fields come between the prefix and the body.
    assert frame[prefix.position :] == (b"body" if version == 1 else b"\x00body")


@pytest.mark.parametrize("version", [1, 2])
def test_a_client_id_is_never_compact(version: int) -> None:
    assert encode(header("ab"), version)[8:12] == b"\x00\x02ab"


@pytest.mark.parametrize("version", [1, 2])
def test_a_header_reads_back(version: int) -> None:
    written = encode(header("c"), version)
    assert decode(RequestHeader, version, written) == (header("c"), len(written))


def test_a_frame_shorter_than_a_header_is_refused() -> None:
    whole = encode(header(None), 1)
    for size in range(len(whole)):
        with pytest.raises(MalformedMessage, match=f"{size} bytes are too few for a request header"):
            read_request_prefix(whole[:size])


def test_a_client_id_longer_than_its_frame_is_refused() -> None:
    whole = encode(header("client"), 1)
    for size in range(10, len(whole)):
        with pytest.raises(MalformedMessage, match=f"client id of 6 bytes in a frame of {size}"):
            read_request_prefix(whole[:size])
    with pytest.raises(MalformedMessage, match="client id of 32767 bytes"):
        read_request_prefix(whole[:8] + b"\x7f\xff" + whole[10:])


def test_a_client_id_that_is_not_utf_8_is_read_with_replacement_characters() -> None:
    assert read_request_prefix(encode(header("ab"), 1).replace(b"ab", b"a\xfe")).client_id == "a\ufffd"


def test_flexible_requests_and_responses_have_headers_with_tags() -> None:
    assert [request_header_version(CreateTopicsRequest, version) for version in (4, 5)] == [1, 2]
    assert [response_header_version(CreateTopicsResponse, version) for version in (4, 5)] == [0, 1]


def test_api_versions_always_answers_with_the_oldest_header() -> None:
    assert {response_header_version(ApiVersionsResponse, version) for version in range(5)} == {0}


def test_a_response_header_reads_back() -> None:
    assert encode(ResponseHeader(correlation_id=9), 0) == b"\x00\x00\x00\x09"
    assert encode(ResponseHeader(correlation_id=9), 1) == b"\x00\x00\x00\x09\x00"
    assert decode(ResponseHeader, 1, b"\x00\x00\x00\x09\x00") == (ResponseHeader(correlation_id=9), 5)
