"""A client's request inside a broker's envelope: served as if the client had sent it, or
refused.
"""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.broker import Broker
from barnabas.api.controller_apis.envelope import unwrapping
from barnabas.controller.envelopes import envelope_of, principal_bytes, read_principal, read_response
from barnabas.controller.error_responses import error_response
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.wire.messages.metadata import MetadataRequest

CREATE = CreateTopicsRequest(topics=[], timeout_ms=1234)
CREATED = CreateTopicsResponse(throttle_time_ms=0, topics=[CreatableTopicResult(name="t", error_code=0, error_message=None)])
SOMEBODY = Principal("User", "Barnabas", token_authenticated=True)


def wrapped(request: Any = CREATE, version: int = 7, **changed: Any) -> EnvelopeRequest:
    envelope = envelope_of(request, version, correlation_id=9, client_id=None, principal=SOMEBODY, client_host="fe80::1%eth0")
    for name, value in changed.items():
        setattr(envelope, name, value)
    return envelope


class Controller:
    """Handlers that record their calls and return the responses of a test."""

    def __init__(self, answer: Any = CREATED) -> None:
        self.answer = answer
        self.seen: list[tuple[Caller, Any]] = []

    def handle(self, broker: Broker, context: Caller, request: Any) -> Any:
        self.seen.append((context, request))
        return self.answer

    def receives(self, envelope: EnvelopeRequest) -> Any:
        keys = (ApiKey.CREATE_TOPICS, ApiKey.DESCRIBE_QUORUM, ApiKey.METADATA, ApiKey.ENVELOPE)
        handle = unwrapping(dict.fromkeys(keys, self.handle))
        connection = cast(Connection, SimpleNamespace(peer_address=("127.0.0.1", 1), principal=ANONYMOUS))
        return handle(cast(Broker, None), Caller(connection, 0, 1, "broker"), envelope)


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("version", [2, 4, 5, 7])
def test_the_request_inside_an_envelope_is_served_and_answered_inside_one(version: int, *, later: bool) -> None:
    promise: Promise[Any] = Promise()
    controller = Controller(promise if later else CREATED)
    response = controller.receives(wrapped(version=version))
    if later:
        promise.resolve(CREATED)
        response = response.value
    assert response.error_code == ErrorCode.NONE
    assert read_response(response.response_data, CREATE, version, 9).topics[0].name == "t"
    ((context, request),) = controller.seen
    assert request == CREATE
    assert (context.version, context.correlation_id, context.client_id, context.host) == (version, 9, None, "/fe80::1")
    assert context.principal == SOMEBODY


def test_an_inactive_controller_answers_not_controller_in_the_envelope() -> None:
    refusal = CreateTopicsResponse(
        throttle_time_ms=0, topics=[CreatableTopicResult(name="t", error_code=ErrorCode.NOT_CONTROLLER, error_message=None)]
    )
    assert Controller(refusal).receives(wrapped()) == EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    question = DescribeQuorumRequest(topics=[])
    not_leading = error_response(question, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert Controller(not_leading).receives(wrapped(question, 2)) == EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)


@pytest.mark.parametrize(
    ("envelope", "error"),
    [
        (wrapped(request_principal=None), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (wrapped(request_principal=b"\x00\x07\x05User"), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (wrapped(request_principal=b"\x00\x00\xff\xff\xff"), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (wrapped(client_host_address=b"\x7f\x00\x00"), ErrorCode.INVALID_REQUEST),
        (wrapped(client_host_address=b""), ErrorCode.INVALID_REQUEST),
        (wrapped(MetadataRequest(topics=None), 12), ErrorCode.INVALID_REQUEST),
        (wrapped(wrapped(), 0), ErrorCode.INVALID_REQUEST),
        (wrapped(request_data=struct.pack(">hhih", 9999, 0, 1, -1)), ErrorCode.INVALID_REQUEST),
        (wrapped(request_data=struct.pack(">hhih", ApiKey.CREATE_TOPICS, 99, 1, -1)), ErrorCode.UNSUPPORTED_VERSION),
        (wrapped(request_data=b""), ErrorCode.UNSUPPORTED_VERSION),
        (wrapped(request_data=wrapped().request_data[:-3]), ErrorCode.UNSUPPORTED_VERSION),
        (wrapped(request_data=struct.pack(">hhih", ApiKey.CREATE_TOPICS, 7, 1, -1)), ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_an_envelope_with_something_wrong_is_refused_and_nothing_served(envelope: EnvelopeRequest, error: ErrorCode) -> None:
    controller = Controller()
    assert controller.receives(envelope) == EnvelopeResponse(error_code=error)
    assert not controller.seen


def test_a_client_without_a_name_is_written_as_kafka_writes_it() -> None:
    assert principal_bytes(ANONYMOUS) == b"\x00\x00" + b"\x05User" + b"\x0aANONYMOUS" + b"\x00" + b"\x00"
    assert read_principal(principal_bytes(ANONYMOUS)) == ANONYMOUS
