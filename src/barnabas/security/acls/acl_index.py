"""The rules of a cluster, arranged by resource and principal.

A lookup costs the same with ten rules and with ten thousand: one step for the literal name, one for
the wildcard, and one for each length that a prefixed pattern has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from barnabas.model.ids import Uuid
from barnabas.security.acls.acl import WILDCARD, Acl, PatternType, Resource, ResourceType

# The rules of one pattern by their principal.
Pattern = dict[str, dict[Uuid, Acl]]


class AclIndex:
    def __init__(self) -> None:
        self._by_id: dict[Uuid, Acl] = {}
        self._literal: dict[Resource, Pattern] = {}
        self._prefixed: dict[Resource, Pattern] = {}
        # How many prefixed patterns of a type have a name of this length.
        self._prefix_lengths: dict[ResourceType, Counter[int]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._by_id.values())

    def items(self) -> Iterator[tuple[Uuid, Acl]]:
        return iter(self._by_id.items())

    def add(self, acl_id: Uuid, acl: Acl) -> None:
        """An id that exists already gets the new rule."""
        self.remove(acl_id)
        if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
            return  # a pattern of a later version, which matches nothing here
        self._by_id[acl_id] = acl
        patterns = self._patterns(acl)
        name = Resource(acl.resource_type, acl.resource_name)
        if name not in patterns:
            patterns[name] = {}
            if acl.pattern_type is PatternType.PREFIXED:
                self._prefix_lengths.setdefault(acl.resource_type, Counter())[len(acl.resource_name)] += 1
        patterns[name].setdefault(acl.principal, {})[acl_id] = acl

    def remove(self, acl_id: Uuid) -> None:
        acl = self._by_id.pop(acl_id, None)
        if acl is None:
            return
        patterns = self._patterns(acl)
        name = Resource(acl.resource_type, acl.resource_name)
        rules = patterns[name][acl.principal]
        del rules[acl_id]
        if not rules:
            del patterns[name][acl.principal]
        if not patterns[name]:
            del patterns[name]
            if acl.pattern_type is PatternType.PREFIXED:
                self._forget_length(acl)

    def matching(self, resource: Resource) -> Iterator[Pattern]:
        """The patterns that match a resource. No pattern means that no rule is about it."""
        kind, name = resource
        literal = self._literal
        pattern = literal.get(resource)
        if pattern is not None:
            yield pattern
        if name != WILDCARD:
            pattern = literal.get(Resource(kind, WILDCARD))
            if pattern is not None:
                yield pattern
        for length in self._prefix_lengths.get(kind, ()):
            if length <= len(name):
                pattern = self._prefixed.get(Resource(kind, name[:length]))
                if pattern is not None:
                    yield pattern

    def of_type(self, kind: ResourceType) -> Iterator[Acl]:
        return (each for each in self._by_id.values() if each.resource_type is kind)

    def _patterns(self, acl: Acl) -> dict[Resource, Pattern]:
        return self._prefixed if acl.pattern_type is PatternType.PREFIXED else self._literal

    def _forget_length(self, acl: Acl) -> None:
        lengths = self._prefix_lengths[acl.resource_type]
        length = len(acl.resource_name)
        lengths[length] -= 1
        if not lengths[length]:
            del lengths[length]
