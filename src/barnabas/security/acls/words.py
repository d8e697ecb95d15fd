"""The names of operations, resources and permissions as people read them: Kafka's, in lower case
with dashes."""

from __future__ import annotations

from enum import IntEnum

from barnabas.security.acls.acl import PatternType, ResourceType


def name_of(value: IntEnum) -> str:
    return value.name.lower().replace("_", "-")


def resource_text(kind: ResourceType, name: str, pattern: PatternType = PatternType.LITERAL) -> str:
    """As part of a sentence: "topic orders", "the cluster", "topics that begin with or"."""
    noun = name_of(kind).replace("-", " ")
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    if pattern is PatternType.PREFIXED:
        return f"{noun}s that begin with {name}"
    return f"every {noun}" if name == "*" else f"{noun} {name}"
