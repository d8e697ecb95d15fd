"""Any frame is either the message it claims to be or malformed: no other error, and no memory for
lengths without bytes.

Valid frames of every API and version are damaged with a seeded random generator: a failing seed is
the name of the test.
"""

from __future__ import annotations

import random
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest

from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.headers import (
    RequestHeader,
    ResponseHeader,
    read_request_prefix,
    request_header_version,
    response_header_version,
)
from barnabas.wire.tagged_fields import MalformedMessage
from tests.unit.wire.declared import Versioned, bare, every_version, full, hollow

_DAMAGED_FRAMES = 100  # per version, some 70,000 in all
_HOSTILE = [
    b"\x7f\xff\xff\xff",  # the longest old-style array
    b"\xff\xff\xff\xfe",  # length -2
    b"\x80\x00\x00\x00",
    b"\x7f\xff",  # the longest string
    b"\xff\xff\xff\xff\x0f",  # the longest compact length
    b"\xff\xff\xff\xff\xff\xff",  # an endless varint
    b"\x00",
    b"\x01",
    b"\x80",
    b"\xff",
]


def frame_of(versioned: Versioned, message: Any) -> bytes:
    cls, version = versioned
    header: RequestHeader | ResponseHeader
    if declaration_of(cls).kind == "request":
        header_version = request_header_version(cls, version)
        header = RequestHeader(request_api_key=declaration_of(cls).key or 0, request_api_version=version, correlation_id=7, client_id="me")
    else:
        header_version = response_header_version(cls, version)
        header = ResponseHeader(correlation_id=7)
    return encode(header, header_version) + encode(message, version)


def read_frame(versioned: Versioned, frame: bytes) -> Any:
    """Read as a node reads a request or a client of ours a response; the key and version in the
    frame may be damaged too.
    """
    cls, version = versioned
    view = memoryview(frame)
    if declaration_of(cls).kind == "request":
        read_request_prefix(view)
        _, position = decode(RequestHeader, request_header_version(cls, version), view)
    else:
        _, position = decode(ResponseHeader, response_header_version(cls, version), view)
    message, position = decode(cls, version, view, position)
    assert position <= len(frame)
    return message


def damaged(frame: bytes, chance: random.Random) -> bytes:
    made = bytearray(frame)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(6):
            case 0:
                hostile = chance.choice(_HOSTILE)
                made[at : at + len(hostile)] = hostile
            case 1:
                made[at:at] = chance.choice(_HOSTILE)
            case 2:
                made[at : at + 1] = chance.randbytes(1)
            case 3:
                del made[at : at + chance.randint(1, 8)]
            case 4:
                del made[at:]
            case _:
                start = chance.randrange(len(made) + 1)
                made[at:at] = made[start : start + 16]
    return bytes(made)


@pytest.mark.parametrize("versioned", every_version("request", "response"), ids=str)
def test_a_damaged_frame_is_read_or_malformed(versioned: Versioned) -> None:
    chance = random.Random(str(versioned))
    frames = [frame_of(versioned, build(*versioned)) for build in (bare, full, hollow)]
    for _ in range(_DAMAGED_FRAMES):
        frame = damaged(chance.choice(frames), chance)
        try:
            message = read_frame(versioned, frame)
        except MalformedMessage:
            continue
        # A decoded message can be encoded again. The test compares bytes and not messages, since
        # damage can make a NaN.
        written = encode(message, versioned.version)
        assert encode(decode(versioned.cls, versioned.version, written)[0], versioned.version) == written


@pytest.mark.parametrize("versioned", every_version("metadata", "coordinator-key", "coordinator-value", "data"), ids=str)
def test_a_damaged_record_is_read_or_malformed(versioned: Versioned) -> None:
    chance = random.Random(str(versioned))
    records = [encode(build(*versioned), versioned.version) for build in (bare, full, hollow)]
    for _ in range(_DAMAGED_FRAMES):
        with suppress(MalformedMessage):
            decode(versioned.cls, versioned.version, damaged(chance.choice(records), chance))


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_noise_is_read_or_malformed_in_every_version(key: ApiKey) -> None:
    chance = random.Random(key.api_name)
    for cls in messages(key):
        for version in declaration_of(cls).versions.all():
            for size in (0, 1, 5, 50, 500):
                with suppress(MalformedMessage):
                    read_frame(Versioned(cls, version), chance.randbytes(size))


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_hostile_lengths_anywhere_in_a_frame_cost_less_than_a_megabyte(key: ApiKey) -> None:
    chance = random.Random(key.api_name)
    frames = []
    for cls in messages(key):
        for version in {declaration_of(cls).versions.lowest, declaration_of(cls).versions.highest}:
            versioned = Versioned(cls, version)
            whole = frame_of(versioned, full(cls, version))
            read_frame(versioned, whole)  # so that the measurement excludes compiling
            for hostile in _HOSTILE:
                at = chance.randrange(len(whole))
                frames.append((versioned, whole[:at] + hostile + whole[at + len(hostile) :]))
    tracemalloc.start()
    try:
        for versioned, frame in frames:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            with suppress(MalformedMessage):
                read_frame(versioned, frame)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < 1_000_000, (versioned, frame.hex())
    finally:
        tracemalloc.stop()
