"""Makes rules, and filters for rules, of what a command line names.

A command line names resources, principals, operations and hosts; a rule has one of each, so the
rules are all combinations. ``--producer`` and ``--consumer`` stand for the operations that such a
client needs on each of its resources, as in Kafka's own tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple

from barnabas.cli.errors import Refused
from barnabas.security.acls.acl import ANY_HOST, CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType
from barnabas.security.acls.acl_filter import AclFilter
from barnabas.security.acls.operations import OPERATIONS
from barnabas.security.acls.words import name_of
from barnabas.security.principal import parse_principal

_OPTIONS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--token",
    ResourceType.USER: "--user",
    ResourceType.CLUSTER: "--cluster",
}
_PRODUCER: Final = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
_CONSUMER: Final = {
    ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
    ResourceType.GROUP: (Operation.READ,),
}


class Named(NamedTuple):
    """A resource as the command line names it."""

    type: ResourceType
    name: str


@dataclass(frozen=True, slots=True)
class Subjects:
    """Who, from where, and whether they may."""

    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    hosts: Sequence[str] = ()

    def pairs(self) -> list[tuple[str, Permission]]:
        named = [*((each, Permission.ALLOW) for each in self.allowed), *((each, Permission.DENY) for each in self.denied)]
        return [(check_principal(each), permission) for each, permission in named]


@dataclass(frozen=True, slots=True)
class Roles:
    producer: bool = False
    consumer: bool = False
    idempotent: bool = False

    @property
    def given(self) -> bool:
        return self.producer or self.consumer


def resources_named(
    *,
    topics: Iterable[str] = (),
    groups: Iterable[str] = (),
    transactional_ids: Iterable[str] = (),
    tokens: Iterable[str] = (),
    users: Iterable[str] = (),
    cluster: bool = False,
) -> list[Named]:
    found = [
        *(Named(ResourceType.TOPIC, each) for each in topics),
        *(Named(ResourceType.GROUP, each) for each in groups),
        *(Named(ResourceType.TRANSACTIONAL_ID, each) for each in transactional_ids),
        *(Named(ResourceType.DELEGATION_TOKEN, each) for each in tokens),
        *(Named(ResourceType.USER, check_principal(each)) for each in users),
        *([Named(ResourceType.CLUSTER, CLUSTER_NAME)] if cluster else []),
    ]
    for each in found:
        if not each.name:
            raise Refused(f"{_OPTIONS[each.type]} is empty.")
    return list(dict.fromkeys(found))


def operations_of(resources: Sequence[Named], operations: Sequence[Operation], roles: Roles) -> list[tuple[Named, Operation]]:
    """The operations to allow or deny on each resource."""
    if not roles.given:
        if roles.idempotent:
            raise Refused("--idempotent goes with --producer.")
        if not resources:
            raise Refused(f"Name a resource: {', '.join(_OPTIONS.values())}.")
        pairs = list(product(resources, operations or [Operation.ALL]))
        for resource, operation in pairs:
            check_operation(resource.type, operation)
        return pairs
    if operations:
        raise Refused("--producer and --consumer stand for the operations that a client needs, so --operation cannot be given with them.")
    return _operations_of_roles(resources, roles)


def rules(
    resources: Sequence[Named],
    operations: Sequence[Operation],
    roles: Roles,
    subjects: Subjects,
    pattern: PatternType,
) -> list[Acl]:
    named = operations_of(resources, operations, roles)
    who = subjects.pairs()
    if not who:
        raise Refused("Name a principal with --allow or --deny, such as --allow User:alice.")
    return list(
        dict.fromkeys(
            # The cluster is one resource, so a prefix of its name means nothing.
            Acl(kind, name, PatternType.LITERAL if kind is ResourceType.CLUSTER else pattern, principal, host, operation, permission)
            for ((kind, name), operation), (principal, permission), host in product(named, who, subjects.hosts or [ANY_HOST])
        )
    )


def filters(
    resources: Sequence[Named],
    operations: Sequence[Operation],
    roles: Roles,
    subjects: Subjects,
    pattern: PatternType,
) -> list[AclFilter]:
    """A field that no option names accepts every value."""
    if roles.given or roles.idempotent:
        on: list[tuple[Named | None, Operation]] = [*operations_of(resources, operations, roles)]
    else:
        for resource, operation in product(resources, operations):
            check_operation(resource.type, operation)
        named: list[Named | None] = [*resources] or [None]
        on = list(product(named, operations or [Operation.ANY]))
    who: list[tuple[str | None, Permission]] = [*subjects.pairs()] or [(None, Permission.ANY)]
    hosts: list[str | None] = [*subjects.hosts] or [None]
    return [
        AclFilter(
            ResourceType.ANY if resource is None else resource.type,
            None if resource is None else resource.name,
            PatternType.ANY if resource is None else PatternType.LITERAL if resource.type is ResourceType.CLUSTER else pattern,
            principal,
            host,
            operation,
            permission,
        )
        for (resource, operation), (principal, permission), host in product(on, who, hosts)
    ]


def exactly(acl: Acl) -> AclFilter:
    """The filter that accepts this rule and no other."""
    return AclFilter(*acl)


def check_principal(text: str) -> str:
    try:
        principal = parse_principal(text)
    except ValueError as error:
        raise Refused(f"A principal is written as Type:name, such as User:{text or 'alice'}, but was given {text!r}.") from error
    if not principal.name:
        raise Refused(f"The principal {text!r} has no name.")
    return text


def check_operation(kind: ResourceType, operation: Operation) -> None:
    known = (*OPERATIONS[kind], Operation.ALL)
    if operation not in known:
        listed = ", ".join(name_of(each) for each in known)
        raise Refused(f"A {name_of(kind)} has no operation {name_of(operation)}; it has {listed}.")


def _operations_of_roles(resources: Sequence[Named], roles: Roles) -> list[tuple[Named, Operation]]:
    types = {each.type for each in resources}
    if ResourceType.TOPIC not in types:
        raise Refused(f"--{'producer' if roles.producer else 'consumer'} needs the topics: --topic.")
    if roles.consumer and ResourceType.GROUP not in types:
        raise Refused("--consumer needs the group that reads: --group.")
    if roles.idempotent and not roles.producer:
        raise Refused("--idempotent goes with --producer.")
    tables = [table for table, asked in ((_PRODUCER, roles.producer), (_CONSUMER, roles.consumer)) if asked]
    for each in resources:
        if not any(each.type in table for table in tables):
            raise Refused(f"{_OPTIONS[each.type]} has no part in --{'producer' if roles.producer else 'consumer'}.")
    pairs = [(each, operation) for table in tables for each in resources for operation in table.get(each.type, ())]
    if roles.idempotent:
        pairs.append((Named(ResourceType.CLUSTER, CLUSTER_NAME), Operation.IDEMPOTENT_WRITE))
    return list(dict.fromkeys(pairs))
