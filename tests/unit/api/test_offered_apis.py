"""A node serves exactly the APIs that it announces."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.broker_apis.api_versions import _offer, unsupported_version
from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import operation_bits
from barnabas.security.client_software import software_is_valid
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import decode, decoder, encoder
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


@pytest.mark.parametrize("key", sorted({*BROKER_HANDLERS, *CONTROLLER_HANDLERS}), ids=lambda key: key.name.lower())
def test_every_api_that_is_offered_can_be_read_and_answered_in_every_version(key: ApiKey) -> None:
    request, response = messages(key)
    for version in stable_versions(key).all():
        decoder(request, version)
        encoder(response, version)


def test_apis_between_nodes_and_controllers_are_not_offered_to_clients() -> None:
    only_controllers = set(CONTROLLER_HANDLERS) - set(BROKER_HANDLERS)
    assert {ApiKey.VOTE, ApiKey.BROKER_HEARTBEAT, ApiKey.ALTER_PARTITION, ApiKey.ENVELOPE} <= only_controllers
    assert ApiKey.API_VERSIONS in CONTROLLER_HANDLERS


def test_the_readme_counts_the_apis() -> None:
    between_nodes = len(set(CONTROLLER_HANDLERS) - set(BROKER_HANDLERS))
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    served = len(BROKER_HANDLERS) + between_nodes
    assert f"{served} of Kafka 4.3's {len(ApiKey)} APIs" in readme
    assert f"nodes serve {len(BROKER_HANDLERS)} to clients and {between_nodes} more to each other" in readme


def test_every_api_of_kafka_is_served() -> None:
    assert {*BROKER_HANDLERS, *CONTROLLER_HANDLERS} == set(ApiKey)


def test_produce_is_offered_from_version_0_for_the_sake_of_old_librdkafka() -> None:
    offered = _offer(ApiKey.PRODUCE)
    assert (offered.min_version, stable_versions(ApiKey.PRODUCE).lowest) == (0, 3)


def test_unstable_versions_are_not_offered() -> None:
    assert _offer(ApiKey.INIT_PRODUCER_ID).max_version == 5


def test_an_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    frame = bytes(unsupported_version(77))
    length, correlation_id = struct.unpack_from(">ii", frame)
    response, end = decode(ApiVersionsResponse, 0, frame, 8)
    assert (length, correlation_id, end) == (len(frame) - 4, 77, len(frame))
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.min_version, each.max_version) for each in response.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("librdkafka", True),
        ("a", True),
        ("apache-kafka-java", True),
        ("2.4.1", True),
        ("1.0-SNAPSHOT", True),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("a b", False),
        ("a\n", False),
        ("a_b", False),
    ],
)
def test_api_versions_judges_the_name_of_a_client(name: str, fits: bool) -> None:
    assert software_is_valid(ApiVersionsRequest(client_software_name=name, client_software_version="1"), 3) == fits


def test_the_bits_of_operations_are_kafkas() -> None:
    assert operation_bits(ResourceType.TOPIC, lambda _: True) == 3576
    assert operation_bits(ResourceType.CLUSTER, lambda _: True) == 8096
