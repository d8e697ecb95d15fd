"""The operations that each type of resource has, and the bit field in which responses list those
that the caller may perform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from barnabas.security.acls.acl import Operation, ResourceType

# The bit field of a caller that did not ask for it.
NOT_ASKED: Final = -(2**31)

_O = Operation
OPERATIONS: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (_O.READ, _O.WRITE, _O.CREATE, _O.DESCRIBE, _O.DELETE, _O.ALTER, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    ResourceType.GROUP: (_O.READ, _O.DESCRIBE, _O.DELETE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    ResourceType.CLUSTER: (
        _O.CREATE,
        _O.CLUSTER_ACTION,
        _O.DESCRIBE_CONFIGS,
        _O.ALTER_CONFIGS,
        _O.IDEMPOTENT_WRITE,
        _O.ALTER,
        _O.DESCRIBE,
    ),
    ResourceType.TRANSACTIONAL_ID: (_O.DESCRIBE, _O.WRITE, _O.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (_O.DESCRIBE,),
    ResourceType.USER: (_O.CREATE_TOKENS, _O.DESCRIBE_TOKENS),
}


def operation_bits(kind: ResourceType, may: Callable[[Operation], bool]) -> int:
    """The operations of a type for which ``may`` is true, each as the bit of its number."""
    return sum(1 << each for each in OPERATIONS[kind] if may(each))
