"""What callers may do, and the audit log of what they did.

The decision is that of :class:`~barnabas.security.acls.authorizer.Authorizer`. This shell asks it
for a caller, remembers what it allowed until a rule changes, and writes each decision down.

A node without an authorizer allows everything, and pays for that one comparison.

A node that has not read the rules yet lets super users in and denies all others.

The audit log has the fields of Kafka's ``kafka.authorizer.logger``: who, from where, what, on what,
by which request, and the rule that decided. Denials are written at INFO and permissions at DEBUG.
Checks that only filter a list, where a denial is no attempt to do something, are written at TRACE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from typing import Final

from barnabas.api.needs import Need
from barnabas.api.sliced_answers import Steps
from barnabas.model.ids import Uuid
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import CLUSTER_NAME, Acl, PatternType, Resource, ResourceType
from barnabas.security.acls.authorizer import Authorizer, Decision
from barnabas.security.acls.operations import OPERATIONS, operation_bits
from barnabas.security.principal import Principal
from barnabas.telemetry.logs import EventLog

# Permissions that are remembered; about 5 MB. When there are more, all are forgotten and decided
# again.
REMEMBERED_MAX: Final = 20_000

# What a decision costs, see `barnabas.api.sliced_answers`.
DECISION_US: Final = 5

_NOT_READY: Final = Decision(False, "AuthorizerNotReady")
# The audit log names types of resources as Kafka does.
_TITLES: Final = {kind: "".join(part.capitalize() for part in kind.name.split("_")) for kind in ResourceType}


class _Everything:
    """Contains every name."""

    def __contains__(self, _: object) -> bool:
        return True


EVERYTHING: Final[Container[str]] = _Everything()


class _Allowed:
    """Contains the names that a caller may do something to."""

    __slots__ = ("_access", "_caller", "_need")

    def __init__(self, access: Access, caller: Caller, need: Need) -> None:
        self._access, self._caller, self._need = access, caller, need

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._access.may(self._caller, self._need, name, filters=True)


class Access:
    __slots__ = ("_allowed", "_authorizer", "_log", "_ready", "enabled", "version")

    def __init__(self, authorizer: Authorizer | None, log: EventLog) -> None:
        self._authorizer = authorizer
        self._log = log
        self._ready = False
        self._allowed: set[tuple[Principal, str, Need, str]] = set()
        self.enabled = authorizer is not None
        # Changes with the rules. A shortcut that remembers a permission compares it.
        self.version = 0

    # -- questions ---------------------------------------------------------------------------------

    def may(self, caller: Caller, need: Need, name: str = CLUSTER_NAME, *, count: int = 1, filters: bool = False) -> bool:
        """``count`` is how often the request names the resource. With ``filters`` the caller did
        not ask for this resource, and a denial only leaves it out of a list."""
        if self._authorizer is None:
            return True
        if (caller.principal, caller.address, need, name) in self._allowed:
            return True
        return self._decide(self._authorizer, caller, need, name, count, filters=filters)

    def allowed(self, caller: Caller, need: Need, names: Iterable[str], *, filters: bool = False) -> Container[str]:
        """Those of ``names`` that the caller may do this to."""
        if self._authorizer is None:
            return EVERYTHING
        return {name for name, count in Counter(names).items() if self.may(caller, need, name, count=count, filters=filters)}

    def deciding(self, caller: Caller, need: Need, names: Iterable[str]) -> Steps[Container[str]]:
        """As :meth:`allowed`, in steps."""
        if self._authorizer is None:
            return EVERYTHING
        allowed = set()
        for name, count in Counter(names).items():
            if self.may(caller, need, name, count=count):
                allowed.add(name)
            yield DECISION_US
        return allowed

    def names_allowed(self, caller: Caller, need: Need) -> Container[str]:
        """All names that the caller may do this to, each decided when it is looked for."""
        return EVERYTHING if self._authorizer is None else _Allowed(self, caller, need)

    def may_for_some(self, caller: Caller, need: Need) -> bool:
        """Whether there can be a resource of this type that the caller may do this to."""
        authorizer = self._authorizer
        if authorizer is None:
            return True
        if not self._knows_rules_for(authorizer, caller):
            return False
        return authorizer.may_for_some(caller.principal, caller.address, need.operation, need.kind)

    def operations(self, caller: Caller, kind: ResourceType, name: str = CLUSTER_NAME) -> int:
        """The bit field of the operations that the caller may perform."""
        if self._authorizer is None:
            return _ALL_OPERATIONS[kind]
        return operation_bits(kind, lambda operation: self.may(caller, Need(operation, kind), name, filters=True))

    def cluster_operations(self, caller: Caller, describe: Need) -> int:
        """As :meth:`operations`; nothing for a caller that may not describe the cluster."""
        return self.operations(caller, ResourceType.CLUSTER) if self.may(caller, describe) else 0

    def _decide(self, authorizer: Authorizer, caller: Caller, need: Need, name: str, count: int, *, filters: bool) -> bool:
        if self._knows_rules_for(authorizer, caller):
            decision = authorizer.decide(caller.principal, caller.address, need.operation, Resource(need.kind, name))
        else:
            decision = _NOT_READY
        level = "TRACE" if filters else "DEBUG" if decision.allowed else "INFO"
        audited = self._log.writes(level)
        if audited:
            self._audit(level, caller, need, name, count, decision)
        # A permission that is audited must be decided, and written down, every time.
        if decision.allowed and not audited and not self._log.writes("DEBUG"):
            if len(self._allowed) >= REMEMBERED_MAX:
                self._allowed.clear()
            self._allowed.add((caller.principal, caller.address, need, name))
        return decision.allowed

    def _knows_rules_for(self, authorizer: Authorizer, caller: Caller) -> bool:
        return self._ready or authorizer.is_super_user(caller.principal)

    def _audit(self, level: str, caller: Caller, need: Need, name: str, count: int, decision: Decision) -> None:
        self._log.write(
            level,
            "access allowed" if decision.allowed else "access denied",
            principal=str(caller.principal),
            operation=need.operation.name,
            host=caller.address,
            resource=f"{_TITLES[need.kind]}:{PatternType.LITERAL.name}:{name}",
            request=caller.api,
            resource_ref_count=count,
            rule=decision.rule,
        )

    # -- rules -------------------------------------------------------------------------------------

    def change(self, changed: Iterable[tuple[Uuid, Acl | None]]) -> None:
        """Rules that are new or changed, or None where a rule is gone."""
        assert self._authorizer is not None, "a node without an authorizer has no rules"
        index = self._authorizer.index
        for acl_id, acl in changed:
            if acl is None:
                index.remove(acl_id)
            else:
                index.add(acl_id, acl)
        self._allowed.clear()
        self.version += 1

    def become_ready(self) -> None:
        """All rules of the metadata log are known."""
        if not self._ready:
            self._ready = True
            self.version += 1


_ALL_OPERATIONS: Final = {kind: operation_bits(kind, lambda _: True) for kind in OPERATIONS}
