"""A cluster with an authorizer, and whether it serves the requests of a test."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from barnabas.cli.cluster.admin_request import ask
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.waiting import PATIENCE_SECONDS

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


class Authorizing(NamedTuple):
    bootstrap: str
    # Apache Kafka hides this setting of its authorizer.
    tells_super_users: bool

    def needs(self, key: ApiKey) -> None:
        served = ask(self.bootstrap, {}, ApiVersionsRequest(), seconds_max=PATIENCE_SECONDS, version_max=0).api_keys
        if key not in {each.api_key for each in served}:
            pytest.skip(f"{self.bootstrap} does not serve {key.api_name} yet")
