"""Rules as short sentences, and the users that have them.

``READ topic open`` allows READ on the topic *open*; ``DENY READ topic open`` denies it. A name that
ends with ``*`` is a prefix, ``*`` alone is the wildcard, and ``from 10.0.0.1`` at the end names a
host.

Every set of rules belongs to a user of its own, so that one broker serves all cases: the rules are
created once, before the first request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from barnabas.security.acls.acl import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from barnabas.wire.messages.create_acls import AclCreation

Rules = frozenset[str]

_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "txn": ResourceType.TRANSACTIONAL_ID,
    "token": ResourceType.DELEGATION_TOKEN,
    "user": ResourceType.USER,
}


def creation(rule: str, principal: str) -> AclCreation:
    text, _, host = rule.partition(" from ")
    words = text.split(" ")
    permission = Permission.ALLOW
    if words[0] == "DENY":
        permission = Permission.DENY
        del words[0]
    operation, kind, name = [*words, CLUSTER_NAME][:3]
    prefixed = name.endswith("*") and name != "*"
    return AclCreation(
        resource_type=_TYPES[kind],
        resource_name=name.removesuffix("*") if prefixed else name,
        resource_pattern_type=PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        principal=principal,
        host=host or "*",
        operation=Operation[operation],
        permission_type=permission,
    )


class Users:
    """The user of each set of rules. The same set always has the same user."""

    def __init__(self) -> None:
        self._names: dict[Rules, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.values())

    def having(self, rules: Iterable[str]) -> str:
        return self._names.setdefault(frozenset(rules), f"user{len(self._names)}")

    def creations(self) -> list[AclCreation]:
        return [creation(rule, f"User:{name}") for rules, name in self._names.items() for rule in sorted(rules)]


def variants(needs: tuple[str, ...], others: tuple[tuple[str, ...], ...] = ()) -> dict[str, Rules]:
    """Sets of rules worth a case: none, exactly what is needed, each needed rule missing in turn,
    each denied in turn, and ``others``."""
    found = {"nothing": frozenset[str](), "needed": frozenset(needs)}
    for each in needs:
        found[f"without {each}"] = frozenset(needs) - {each}
        found[f"denied {each}"] = frozenset(needs) | {f"DENY {each}"}
    for rules in others:
        found[" and ".join(rules)] = frozenset(rules)
    return {name: rules for name, rules in found.items() if list(found.values()).index(rules) == list(found).index(name)}
