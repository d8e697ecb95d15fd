"""A cluster with an authorizer."""

from __future__ import annotations

from typing import NamedTuple

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


class Authorizing(NamedTuple):
    bootstrap: str
    # Apache Kafka hides this setting of its authorizer.
    tells_super_users: bool
