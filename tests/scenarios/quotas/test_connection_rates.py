"""How fast connections are accepted: from an address, on a listener, and by the node."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from tests.scenarios.client import Client, HungUp
from tests.scenarios.quotas.altering import set_quota
from tests.waiting import until

VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")
RATE = "max.connection.creation.rate"


def greeted(bootstrap: str) -> bool:
    """Whether a new connection is served rather than closed."""
    try:
        with Client(bootstrap) as client:
            return bool(client.ask(VERSIONS).error_code == ErrorCode.NONE)
    except (HungUp, ConnectionError):
        return False


def set_rate(client: Client, name: str, value: str) -> int:
    change = AlterableConfig(name=name, config_operation=0, value=value)
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=4, resource_name="", configs=[change])], validate_only=False
    )
    return int(client.ask(request).responses[0].error_code)


def test_an_address_over_its_quota_is_closed_and_served_again_later(kafka: EmbeddedBroker, client: Client) -> None:
    set_quota(client, {"ip": "127.0.0.1"}, connection_creation_rate=1)
    # A burst of ten seconds is free.
    assert [greeted(kafka.bootstrap) for _ in range(10)] == [True] * 10
    until(lambda: not greeted(kafka.bootstrap), "a connection is closed")
    # A connection that is open already is not affected.
    assert client.ask(VERSIONS).error_code == ErrorCode.NONE
    set_quota(client, {"ip": "127.0.0.1"}, connection_creation_rate=None)
    assert greeted(kafka.bootstrap)


def test_a_quota_of_another_address_has_no_effect(kafka: EmbeddedBroker, client: Client) -> None:
    set_quota(client, {"ip": "10.9.8.7"}, connection_creation_rate=1)
    assert all(greeted(kafka.bootstrap) for _ in range(30))


@pytest.mark.parametrize("name", [RATE, f"listener.name.plaintext.{RATE}"])
def test_connections_over_the_rate_wait_and_are_all_served(kafka: EmbeddedBroker, client: Client, name: str) -> None:
    assert set_rate(client, name, "2") == ErrorCode.NONE
    assert all(greeted(kafka.bootstrap) for _ in range(22))
    until(lambda: client.ask(VERSIONS).error_code == ErrorCode.NONE, "the open connection is served")
    assert set_rate(client, name, "100000") == ErrorCode.NONE
    assert all(greeted(kafka.bootstrap) for _ in range(30))


def test_a_rate_that_is_no_number_is_refused(client: Client) -> None:
    assert set_rate(client, f"listener.name.plaintext.{RATE}", "many") == ErrorCode.INVALID_REQUEST
