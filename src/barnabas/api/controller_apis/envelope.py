"""Envelope (key 58): a client's request that a broker forwards on behalf of the client (KIP-590).

Behaviour:
- the controller serves the inner request as if the client had sent it here, and puts the response,
  in the version of the client, into the response of the envelope;
- INVALID_REQUEST for a request that Kafka does not let brokers forward or that is not served here,
  and for an invalid client address;
- UNSUPPORTED_VERSION for an inner request that cannot be decoded or has an unknown version; the
  broker then makes its client ask for the supported versions again.
  PRINCIPAL_DESERIALIZATION_FAILURE for a principal that cannot be decoded;
- a controller that is not active puts NOT_CONTROLLER on the envelope itself, where brokers look for
  it.

Version notes: one version.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.controller_handlers import ADMINISTERED
from barnabas.api.handler import Handler, Handlers
from barnabas.api.needs import on_cluster
from barnabas.controller.envelopes import FORWARDABLE, read_address, read_principal, response_bytes
from barnabas.controller.error_responses import carries
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, FieldNotInVersion, decode
from barnabas.wire.headers import read_request_prefix, request_header_version
from barnabas.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields

NEEDS = on_cluster(Operation.CLUSTER_ACTION)

# These APIs answer NOT_LEADER_OR_FOLLOWER where the others answer NOT_CONTROLLER.
_QUORUM_APIS = frozenset({ApiKey.DESCRIBE_QUORUM, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER})


def unwrapping(handlers: Handlers) -> Handler:
    """The handler for envelopes that contain requests for ``handlers``."""

    def handle(broker: Broker, caller: Caller, envelope: EnvelopeRequest) -> EnvelopeResponse | Promise[EnvelopeResponse]:
        forwarded = _unwrap(caller, envelope, handlers)
        if isinstance(forwarded, ErrorCode):
            return EnvelopeResponse(error_code=forwarded)
        key, inside, request = forwarded
        response = handlers[key](broker, inside, request)
        if isinstance(response, Promise):
            return response.map(lambda value: _wrap(key, inside, value))
        return _wrap(key, inside, response)

    return handle


def _unwrap(caller: Caller, envelope: EnvelopeRequest, handlers: Handlers) -> tuple[ApiKey, Caller, Any] | ErrorCode:
    try:
        principal = read_principal(envelope.request_principal or b"")
    except MalformedMessage:
        return ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
    try:
        client_address = read_address(envelope.client_host_address)
    except ValueError:
        return ErrorCode.INVALID_REQUEST
    data = envelope.request_data
    try:
        header = read_request_prefix(data)
        if header.api_key not in handlers or header.api_key not in FORWARDABLE:
            return ErrorCode.INVALID_REQUEST
        key = ApiKey(header.api_key)
        request_class, version, position = messages(key)[0], header.api_version, header.position
        if version not in stable_versions(key):
            return ErrorCode.UNSUPPORTED_VERSION
        if request_header_version(request_class, version) == 2:
            position = skip_tagged_fields(data, position, len(data))
        request, _ = decode(request_class, version, data, position)
    except DECODE_ERRORS:
        return ErrorCode.UNSUPPORTED_VERSION
    forwarded = Caller(caller.connection, version, header.correlation_id, header.client_id, principal, client_address, api=key.api_name)
    return key, forwarded, request


def _wrap(key: ApiKey, inside: Caller, response: Any) -> EnvelopeResponse:
    if carries(response, ErrorCode.NOT_CONTROLLER) or (key in _QUORUM_APIS and carries(response, ErrorCode.NOT_LEADER_OR_FOLLOWER)):
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    try:
        data = response_bytes(response, inside.version, inside.correlation_id)
    except FieldNotInVersion:
        return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return EnvelopeResponse(response_data=data, error_code=ErrorCode.NONE)


handle = unwrapping(ADMINISTERED)
