"""What an API needs its caller to be allowed, declared beside its handler as ``NEEDS``.

``NEEDS`` is one of these:

- ``NOTHING``: every caller may call it;
- ``on_cluster(...)``: one permission on the cluster. The table of handlers checks it before the
  handler runs (:mod:`barnabas.api.handler`), and a denied caller gets a response with
  CLUSTER_AUTHORIZATION_FAILED;
- ``checked(...)``: permissions on the resources that a request names. The handler checks them
  itself, with :class:`~barnabas.api.access.Access`, because each resource has its own result.

A module without ``NEEDS`` cannot be put into a table of handlers, so no API is served unchecked.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from barnabas.model.dataclass import dataclass
from barnabas.security.acls.acl import Operation, ResourceType


class Need(NamedTuple):
    """An operation on a type of resource."""

    operation: Operation
    kind: ResourceType


@dataclass(frozen=True, slots=True)
class Needs:
    """``guard`` is checked before the handler runs; the handler itself checks ``checked``."""

    guard: Need | None = None
    checked: tuple[Need, ...] = ()


NOTHING: Final = Needs()


def on_cluster(operation: Operation) -> Needs:
    return Needs(guard=Need(operation, ResourceType.CLUSTER))


def checked(*needs: Need) -> Needs:
    return Needs(checked=needs)


READ_TOPIC: Final = Need(Operation.READ, ResourceType.TOPIC)
WRITE_TOPIC: Final = Need(Operation.WRITE, ResourceType.TOPIC)
CREATE_TOPIC: Final = Need(Operation.CREATE, ResourceType.TOPIC)
DELETE_TOPIC: Final = Need(Operation.DELETE, ResourceType.TOPIC)
ALTER_TOPIC: Final = Need(Operation.ALTER, ResourceType.TOPIC)
DESCRIBE_TOPIC: Final = Need(Operation.DESCRIBE, ResourceType.TOPIC)
DESCRIBE_TOPIC_CONFIGS: Final = Need(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
ALTER_TOPIC_CONFIGS: Final = Need(Operation.ALTER_CONFIGS, ResourceType.TOPIC)
READ_GROUP: Final = Need(Operation.READ, ResourceType.GROUP)
DELETE_GROUP: Final = Need(Operation.DELETE, ResourceType.GROUP)
DESCRIBE_GROUP: Final = Need(Operation.DESCRIBE, ResourceType.GROUP)
DESCRIBE_GROUP_CONFIGS: Final = Need(Operation.DESCRIBE_CONFIGS, ResourceType.GROUP)
ALTER_GROUP_CONFIGS: Final = Need(Operation.ALTER_CONFIGS, ResourceType.GROUP)
WRITE_TRANSACTIONAL_ID: Final = Need(Operation.WRITE, ResourceType.TRANSACTIONAL_ID)
DESCRIBE_TRANSACTIONAL_ID: Final = Need(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)
TWO_PHASE_COMMIT: Final = Need(Operation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID)
CREATE_CLUSTER: Final = Need(Operation.CREATE, ResourceType.CLUSTER)
DELETE_CLUSTER: Final = Need(Operation.DELETE, ResourceType.CLUSTER)
ALTER_CLUSTER: Final = Need(Operation.ALTER, ResourceType.CLUSTER)
DESCRIBE_CLUSTER: Final = Need(Operation.DESCRIBE, ResourceType.CLUSTER)
CLUSTER_ACTION: Final = Need(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
DESCRIBE_CLUSTER_CONFIGS: Final = Need(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
ALTER_CLUSTER_CONFIGS: Final = Need(Operation.ALTER_CONFIGS, ResourceType.CLUSTER)
IDEMPOTENT_WRITE: Final = Need(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)
DESCRIBE_TOKEN: Final = Need(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN)
CREATE_TOKENS_OF_USER: Final = Need(Operation.CREATE_TOKENS, ResourceType.USER)
DESCRIBE_TOKENS_OF_USER: Final = Need(Operation.DESCRIBE_TOKENS, ResourceType.USER)
