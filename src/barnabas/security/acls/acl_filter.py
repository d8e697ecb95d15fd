"""Selects rules for DescribeAcls and DeleteAcls."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.security.acls.acl import WILDCARD, Acl, Operation, PatternType, Permission, ResourceType, canonical_host


class AclFilter(NamedTuple):
    """A field that is None, or ANY, accepts every value.

    The pattern type MATCH accepts the patterns that match a resource of this name: the literal
    pattern, the wildcard, and prefixes of the name.
    """

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def accepts(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._accepts_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _accepts_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.resource_name is None or self.resource_name == acl.resource_name:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return False
        if acl.pattern_type is PatternType.PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name == WILDCARD


def read_filter(
    resource_type: int,
    resource_name: str | None,
    pattern_type: int,
    principal: str | None,
    host: str | None,
    operation: int,
    permission: int,
) -> AclFilter | str:
    """The filter of a request; a sentence, in Kafka's words, if one of its numbers is unknown."""
    try:
        found = AclFilter(
            ResourceType(resource_type),
            resource_name,
            PatternType(pattern_type),
            principal,
            None if host is None else canonical_host(host),
            Operation(operation),
            Permission(permission),
        )
    except ValueError:
        return "Unknown patternFilter." if not _is_known(resource_type, pattern_type) else "Unknown entryFilter."
    if found.resource_type is ResourceType.UNKNOWN or found.pattern_type is PatternType.UNKNOWN:
        return "Unknown patternFilter."
    if found.operation is Operation.UNKNOWN or found.permission is Permission.UNKNOWN:
        return "Unknown entryFilter."
    return found


def _is_known(resource_type: int, pattern_type: int) -> bool:
    return resource_type in set(ResourceType) and pattern_type in set(PatternType)
