"""What a caller must be allowed, by the ACLs of the Kafka cluster.

Kafka has no resource for subjects, so a subject takes the rules of its topic: ``orders-key`` and
``orders-value`` those of the topic ``orders``, and any other subject those of a topic of its own
name. A user that may write to a topic may register its schemas.

====================================================  =================  ==================
request                                               operation          resource
====================================================  =================  ==================
read versions, look up, check compatibility           DESCRIBE           topic
register, change tags                                 WRITE              topic
delete versions and subjects                          DELETE             topic
read settings of a subject                            DESCRIBE_CONFIGS   topic
change settings of a subject, associations            ALTER_CONFIGS      topic
read settings of a context, or global ones            DESCRIBE_CONFIGS   cluster
change settings of a context, or global ones          ALTER_CONFIGS      cluster
delete contexts                                       ALTER_CONFIGS      cluster
====================================================  =================  ==================

Settings of a context stand under a name such as ``:.context:`` or ``:.:``, which is no subject and
has no topic: it takes the rules of the cluster.

Listings contain only subjects that the caller may describe, and a schema is found by its id only
through such a subject. A schema may only refer to such subjects, and neither may a schema that it
refers to go beyond them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.registry.core.subject import Subject
from barnabas.security.acls.acl import CLUSTER, Operation, Resource, ResourceType

_SUFFIXES: Final = ("-key", "-value")


class Need(NamedTuple):
    operation: Operation
    resource: Resource


def topic_of(subject: str) -> str:
    name = Subject.parse(subject).name
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), "") or name


def about(subject: str, operation: Operation) -> Need:
    if Subject.parse(subject).is_reserved:
        reads = operation in (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
        return Need(Operation.DESCRIBE_CONFIGS if reads else Operation.ALTER_CONFIGS, CLUSTER)
    return Need(operation, Resource(ResourceType.TOPIC, topic_of(subject)))


def need_of(method: str, template: str, arguments: Mapping[str, str]) -> Need | None:
    """None for a request that needs nothing, or that filters its answer itself."""
    section = template.split("/")[1]
    subject = arguments.get("subject")
    writes = method in ("PUT", "DELETE")
    match section:
        case "config" | "mode":
            operation = Operation.ALTER_CONFIGS if writes else Operation.DESCRIBE_CONFIGS
            return about(subject, operation) if subject is not None else Need(operation, CLUSTER)
        case "subjects" | "compatibility" if subject is not None:
            if method == "DELETE":
                return about(subject, Operation.DELETE)
            registers = section == "subjects" and method == "POST" and template.endswith(("/versions", "/tags"))
            return about(subject, Operation.WRITE if registers else Operation.DESCRIBE)
        case "contexts" if writes:
            return Need(Operation.ALTER_CONFIGS, CLUSTER)
        case "associations:batchGet":
            return None  # The answer has only what the caller may describe.
        case "associations" | "associations:batchMutate":
            name = arguments.get("name") or subject
            if method == "GET" and name is not None:
                return about(name, Operation.DESCRIBE)
            # A body names the topics, and deciding about each of them would need it here.
            return Need(Operation.ALTER_CONFIGS if method != "GET" else Operation.DESCRIBE_CONFIGS, CLUSTER)
    return None
