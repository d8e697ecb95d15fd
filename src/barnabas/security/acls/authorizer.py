"""Kafka's StandardAuthorizer: what a principal may do.

The order of a decision:

1. A super user may do everything, also where a rule denies it.
2. A DENY that matches denies, whatever allows it.
3. An ALLOW that matches allows.
4. If no rule is about the resource, ``allow.everyone.if.no.acl.found`` decides. A single rule about
   it, even for another principal, turns that default off.
5. Everything else is denied.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.model.dataclass import dataclass
from barnabas.security.acls.acl import (
    ANY_HOST,
    ANY_USER,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourceType,
    concerns,
)
from barnabas.security.acls.acl_index import AclIndex
from barnabas.security.principal import Principal

# A resource name for the question whether a principal may do something to any resource at all. The
# name is Kafka's.
_SOME_NAME = "hardcode"


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    rule: str  # for the audit log, in Kafka's words

    def __bool__(self) -> bool:
        return self.allowed


_SUPER_USER = Decision(True, "SuperUser")
_DEFAULT_ALLOW = Decision(True, "DefaultAllow")
_DEFAULT_DENY = Decision(False, "DefaultDeny")


class Authorizer:
    def __init__(self, *, super_users: Iterable[str] = (), allow_if_no_acl: bool = False) -> None:
        """``super_users`` are principals as ``Type:name``."""
        self.index = AclIndex()
        self._super_users = frozenset(super_users)
        self._if_no_acl = _DEFAULT_ALLOW if allow_if_no_acl else _DEFAULT_DENY

    def is_super_user(self, principal: Principal) -> bool:
        return str(principal) in self._super_users

    def may(self, principal: Principal, host: str, operation: Operation, resource: Resource) -> bool:
        return self.decide(principal, host, operation, resource).allowed

    def decide(self, principal: Principal, host: str, operation: Operation, resource: Resource) -> Decision:
        name = str(principal)
        if name in self._super_users:
            return _SUPER_USER
        decision = self._if_no_acl
        for pattern in self.index.matching(resource):
            if decision is self._if_no_acl:
                decision = _DEFAULT_DENY
            for owner in (name, ANY_USER):
                for acl in pattern.get(owner, {}).values():
                    if not concerns(acl, host, operation):
                        continue
                    # A permission of a later version is none that this version could grant.
                    if acl.permission is not Permission.ALLOW:
                        return Decision(False, f"MatchingAcl(acl={acl})")
                    if not decision.allowed:
                        decision = Decision(True, f"MatchingAcl(acl={acl})")

        return decision

    def may_for_some(self, principal: Principal, host: str, operation: Operation, kind: ResourceType) -> bool:
        """Whether the principal may do this to at least one resource of a type that could exist.

        An idempotent producer needs it: it asks for an id before it names a topic. Implied
        operations do not count here, as in Kafka.
        """
        if self.may(principal, host, operation, Resource(kind, _SOME_NAME)):
            return True
        rules = [each for each in self.index.of_type(kind) if _is_about(each, str(principal), host, operation)]
        denied = _Names([each for each in rules if each.permission is Permission.DENY])
        allowed = _Names([each for each in rules if each.permission is Permission.ALLOW])
        if denied.all:
            return False
        if allowed.all:
            return True
        free_literals = (each for each in allowed.literal if each not in denied.literal and not denied.has_prefix_of(each))
        free_prefixes = (each for each in allowed.prefixed if not denied.has_prefix_of(each))
        return any(True for _ in free_literals) or any(True for _ in free_prefixes)


class _Names:
    """The names of rules, by pattern type."""

    def __init__(self, rules: Iterable[Acl]) -> None:
        self.all = False
        self.literal: set[str] = set()
        self.prefixed: set[str] = set()
        for each in rules:
            if each.pattern_type is PatternType.PREFIXED:
                self.prefixed.add(each.resource_name)
            elif each.resource_name == WILDCARD:
                self.all = True
            else:
                self.literal.add(each.resource_name)

    def has_prefix_of(self, name: str) -> bool:
        return any(name[:length] in self.prefixed for length in range(1, len(name) + 1))


def _is_about(acl: Acl, principal: str, host: str, operation: Operation) -> bool:
    return acl.principal in (principal, ANY_USER) and acl.host in (host, ANY_HOST) and acl.operation in (operation, Operation.ALL)
