"""The names of operations, resources and permissions as users type and read them.

They are Kafka's, in lower case with dashes. Kafka's own tools write ``DescribeConfigs``, and its
messages ``DESCRIBE_CONFIGS``; both are understood too.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeVar

from barnabas.cli.errors import Refused
from barnabas.security.acls.acl import Operation, ResourceType
from barnabas.security.acls.words import name_of

Name = TypeVar("Name", bound=IntEnum)

RESOURCE_TYPES = tuple(each for each in ResourceType if each not in (ResourceType.UNKNOWN, ResourceType.ANY))
OPERATION_NAMES = tuple(each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY))


def operation_named(text: str) -> Operation:
    return _named(text, OPERATION_NAMES, "operation")


def resource_type_named(text: str) -> ResourceType:
    return _named(text, RESOURCE_TYPES, "type of resource")


def complete_operations(incomplete: str) -> list[str]:
    return [name for each in OPERATION_NAMES if (name := name_of(each)).startswith(incomplete)]


def complete_resource_types(incomplete: str) -> list[str]:
    return [name for each in RESOURCE_TYPES if (name := name_of(each)).startswith(incomplete)]


def _named(text: str, known: tuple[Name, ...], what: str) -> Name:
    plain = _plain(text)
    for each in known:
        if _plain(each.name) == plain:
            return each
    raise Refused(f"There is no {what} {text!r}; there are {', '.join(name_of(each) for each in known)}.")


def _plain(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")
