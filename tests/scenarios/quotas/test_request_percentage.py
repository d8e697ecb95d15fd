"""The share of a processor that a client's requests may take."""

from __future__ import annotations

from functools import partial

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.scenarios.client import Client
from tests.scenarios.quotas.altering import set_quota
from tests.waiting import until

VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")
TOPICS = MetadataRequest(topics=None, allow_auto_topic_creation=False)
# Frames of Client name this client id.
SELF = {"client-id": "test"}


def test_every_response_names_the_wait_of_a_client_that_uses_too_much(client: Client) -> None:
    set_quota(client, SELF, request_percentage=0.01)
    for request in (VERSIONS, TOPICS):
        wait_ms = until(partial(_wait_ms, client, request), "the client is over its quota")
        # One window: a quota of the processor never makes a client wait longer.
        assert 0 < wait_ms <= 1000


def _wait_ms(client: Client, request: object) -> int:
    return int(client.ask(request).throttle_time_ms)


def test_versions_of_a_response_without_the_field_are_served(client: Client) -> None:
    set_quota(client, SELF, request_percentage=0.01)
    assert client.ask(VERSIONS, 0).error_code == 0
    assert client.ask(VERSIONS, 0).error_code == 0


def test_a_client_within_its_quota_does_not_wait(client: Client) -> None:
    set_quota(client, SELF, request_percentage=100)
    assert [client.ask(VERSIONS).throttle_time_ms for _ in range(20)] == [0] * 20
