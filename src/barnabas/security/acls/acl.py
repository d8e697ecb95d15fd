"""One access rule, and the vocabulary of rules with Kafka's numbers."""

from __future__ import annotations

from enum import IntEnum
from ipaddress import ip_address
from typing import Final, NamedTuple


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


# The name of a literal pattern that matches every resource of its type.
WILDCARD: Final = "*"
ANY_HOST: Final = "*"
ANY_USER: Final = "User:*"
# The one resource of type CLUSTER.
CLUSTER_NAME: Final = "kafka-cluster"


class Resource(NamedTuple):
    type: ResourceType
    name: str


CLUSTER: Final = Resource(ResourceType.CLUSTER, CLUSTER_NAME)


class Acl(NamedTuple):
    """A rule: this principal, from this host, may (or may not) do this to these resources."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str  # Type:name
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        """As Kafka's audit log prints a rule."""
        return (
            f"StandardAcl(resourceType={self.resource_type.name}, resourceName={self.resource_name}, "
            f"patternType={self.pattern_type.name}, principal={self.principal}, host={self.host}, "
            f"operation={self.operation.name}, permissionType={self.permission.name})"
        )


# A permission to do one of these includes the permission to do the other. A DENY includes nothing.
_IMPLIED_BY: Final = {
    Operation.DESCRIBE: frozenset({Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}


def concerns(acl: Acl, host: str, operation: Operation) -> bool:
    """Whether a rule about the right resource and principal also is about this host and
    operation."""
    if acl.host not in (ANY_HOST, host):
        return False
    if acl.operation in (Operation.ALL, operation):
        return True
    return acl.permission is Permission.ALLOW and acl.operation in _IMPLIED_BY.get(operation, ())


def canonical_host(host: str) -> str:
    """An address in one spelling. Java writes all eight groups of an IPv6 address, others shorten
    them, and a rule must hold for both. An IPv4 address that is written as an IPv6 one is the same
    address."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    mapped = address.ipv4_mapped if address.version == 6 else None
    return str(mapped or address)
