"""Rules in the metadata, and as the authorizer compares them."""

from __future__ import annotations

import pytest

from barnabas.metadata.acls import AclImage, rule_of
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType

IMAGE = AclImage(2, "t", 3, "User:alice", "10.0.0.1", 3, 3)


def test_a_rule_has_the_names_of_its_numbers() -> None:
    assert rule_of(IMAGE) == Acl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:alice", "10.0.0.1", Operation.READ, Permission.ALLOW)


@pytest.mark.parametrize(
    ("image", "field"),
    [
        (AclImage(99, "t", 3, "User:a", "*", 3, 3), "resource_type"),
        (AclImage(2, "t", 99, "User:a", "*", 3, 3), "pattern_type"),
        (AclImage(2, "t", 3, "User:a", "*", 99, 3), "operation"),
        (AclImage(2, "t", 3, "User:a", "*", 3, 99), "permission"),
    ],
)
def test_a_number_of_a_later_version_becomes_unknown(image: AclImage, field: str) -> None:
    assert getattr(rule_of(image), field).name == "UNKNOWN"


@pytest.mark.parametrize(
    ("host", "compared"),
    [
        ("*", "*"),
        ("10.0.0.1", "10.0.0.1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:DB8::0001", "2001:db8::1"),
        ("::FFFF:10.0.0.1", "10.0.0.1"),
        ("::ffff:a00:1", "10.0.0.1"),
        ("some.host.name", "some.host.name"),
        ("", ""),
    ],
)
def test_a_host_is_compared_in_one_spelling(host: str, compared: str) -> None:
    assert rule_of(AclImage(2, "t", 3, "User:a", host, 3, 3)).host == compared
