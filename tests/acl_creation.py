"""A rule of CreateAcls as tests write it: a good one, with the fields that matter to a test
changed."""

from __future__ import annotations

from typing import Any

from barnabas.security.acls.acl import ANY_HOST, Operation, PatternType, Permission, ResourceType
from barnabas.wire.messages.create_acls import AclCreation


def acl_creation(**fields: Any) -> AclCreation:
    """``User:alice`` may read the topic ``t`` from everywhere, unless the fields say otherwise."""
    good: dict[str, Any] = {
        "resource_type": ResourceType.TOPIC,
        "resource_name": "t",
        "resource_pattern_type": PatternType.LITERAL,
        "principal": "User:alice",
        "host": ANY_HOST,
        "operation": Operation.READ,
        "permission_type": Permission.ALLOW,
    }
    return AclCreation(**good | fields)
