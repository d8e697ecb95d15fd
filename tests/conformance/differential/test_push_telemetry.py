"""PushTelemetry."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC_ID, ZERO_UUID, Uuid
from barnabas.records.compression import Codec, compress
from tests.conformance.differential.pair import Pair, Peer
from tests.conformance.differential.telemetry_requests import asking, new_instance, pushing, subscribed
from tests.otlp import counter, gauge, metrics_data
from tests.waiting import until

PUSH = metrics_data(
    gauge("org.apache.kafka.producer.a", 1.5, topic="t"), counter("org.apache.kafka.producer.b.total", 3)
).SerializeToString()
NONE, INVALID, THROTTLED = ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.THROTTLING_QUOTA_EXCEEDED


@pytest.fixture(scope="module")
def pair(receiving: Pair) -> Iterator[Pair]:
    with subscribed(receiving, metrics="*", interval_ms="60000"):
        yield receiving


def asked(pair: Pair) -> tuple[Uuid, int]:
    """A client instance that has asked, and its subscription."""
    instance = new_instance()
    ((_, ours),) = pair.same(asking(instance), [0])
    return instance, ours.subscription_id


def push(pair: Pair, *arguments: object, **options: object) -> ErrorCode:
    ((_, ours),) = pair.same(pushing(*arguments, **options), [0])  # type: ignore[arg-type]
    return ErrorCode(ours.error_code)


def test_push_telemetry_is_accepted_once_in_an_interval(pair: Pair) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, PUSH) == NONE
    assert push(pair, instance, subscription, PUSH) == THROTTLED


def test_push_telemetry_without_metrics_is_accepted(pair: Pair) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, b"") == NONE


def test_push_telemetry_is_accepted_again_after_the_interval(receiving: Pair) -> None:
    with subscribed(receiving, metrics="*", interval_ms="250"):
        instance, subscription = asked(receiving)
        assert push(receiving, instance, subscription, PUSH) == NONE
        for peer in receiving.peers:

            def taken(peer: Peer = peer) -> bool:
                return bool(peer.broker.ask(pushing(instance, subscription, PUSH), 0).error_code == NONE)

            until(taken, f"{peer.name} takes another push")


@pytest.mark.parametrize("instance", [ZERO_UUID, METADATA_TOPIC_ID], ids=["zero", "reserved"])
def test_push_telemetry_needs_an_id(pair: Pair, instance: Uuid) -> None:
    assert push(pair, instance, 0, PUSH) == INVALID


def test_push_telemetry_of_an_unknown_client_makes_it_known(pair: Pair) -> None:
    instance = new_instance()
    assert push(pair, instance, 1, PUSH) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert push(pair, instance, 1, PUSH) == THROTTLED
    ((_, ours),) = pair.same(asking(instance), [0])
    assert ours.error_code == THROTTLED


def test_push_telemetry_with_an_old_subscription_is_refused(pair: Pair) -> None:
    instance, subscription = asked(pair)
    with subscribed(pair, metrics="more", interval_ms="50000"):
        assert push(pair, instance, subscription, PUSH) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID


def test_push_telemetry_may_be_early_if_it_is_the_last(pair: Pair) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, PUSH) == NONE
    assert push(pair, instance, subscription, PUSH, terminating=True) == NONE
    assert push(pair, instance, subscription, PUSH, terminating=True) == INVALID


def test_push_telemetry_after_the_last_is_refused_once(pair: Pair) -> None:
    """A refused push says whether it is the last one too."""
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, PUSH, terminating=True) == NONE
    assert push(pair, instance, subscription, PUSH) == INVALID
    assert push(pair, instance, subscription, PUSH) == THROTTLED
    assert push(pair, instance, subscription, PUSH, terminating=True) == NONE


def test_push_telemetry_that_is_refused_may_still_be_the_last(pair: Pair) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription + 1, PUSH, terminating=True) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert push(pair, instance, subscription, PUSH, terminating=True) == INVALID


@pytest.mark.parametrize("codec", Codec)
def test_push_telemetry_takes_every_codec(pair: Pair, codec: Codec) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, compress(codec, PUSH), codec=codec) == NONE


@pytest.mark.parametrize("codec", [-1, 5, 127])
def test_push_telemetry_refuses_codecs_that_do_not_exist(pair: Pair, codec: int) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, PUSH, codec=codec) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_push_telemetry_refuses_bytes_that_are_not_compressed(pair: Pair, codec: Codec) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, PUSH, codec=codec) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("size", range(1, len(PUSH)))
def test_push_telemetry_refuses_truncated_metrics_as_protobuf_does(pair: Pair, size: int) -> None:
    instance, subscription = asked(pair)
    assert push(pair, instance, subscription, PUSH[:size]) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\x07",
        b"\x0a\x01\x00",
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x80" * 12,
        b"\x12\x00",
        b"\x18\x01",
        b"\xfa\x3f\x02ab",
    ],
    ids=["field 0", "wire type 7", "field 0 inside", "length", "endless number", "unknown", "unknown number", "unknown and large"],
)
def test_push_telemetry_judges_strange_metrics_as_protobuf_does(pair: Pair, data: bytes) -> None:
    instance, subscription = asked(pair)
    push(pair, instance, subscription, data)


@pytest.mark.parametrize(("size", "expected"), [(20_000, NONE), (20_001, ErrorCode.TELEMETRY_TOO_LARGE)])
def test_push_telemetry_refuses_more_than_its_limit(pair: Pair, size: int, expected: ErrorCode) -> None:
    instance, subscription = asked(pair)
    # Unknown fields of two bytes, and one of three.
    missing = size - len(PUSH)
    filler = b"\x78\x80\x01" * (missing % 2) + b"\x78\x01" * (missing // 2 - missing % 2)
    assert push(pair, instance, subscription, PUSH + filler) == expected
