"""The table of APIs: every key leads to its own request and response."""

from __future__ import annotations

import pytest

from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.declare import declaration_of
from barnabas.wire.versions import Versions


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_an_api_has_a_request_and_a_response_that_carry_its_key(key: ApiKey) -> None:
    request, response = messages(key)
    assert (request.__name__, response.__name__) == (f"{key.api_name}Request", f"{key.api_name}Response")
    assert declaration_of(request).key == declaration_of(response).key == key


def test_names_are_kafkas() -> None:
    assert ApiKey.OFFSET_FOR_LEADER_EPOCH.api_name == "OffsetForLeaderEpoch"


def test_an_unstable_version_is_declared_but_not_offered() -> None:
    assert stable_versions(ApiKey.INIT_PRODUCER_ID).highest == 5
    assert 6 in declaration_of(messages(ApiKey.INIT_PRODUCER_ID)[0]).versions
    assert stable_versions(ApiKey.CREATE_TOPICS) == Versions(2, 7)
