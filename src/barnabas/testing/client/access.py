"""Users and ACLs of a secured test cluster."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any

from barnabas.devcluster.secure import ADMIN_MECHANISM
from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import ANY_HOST, CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from barnabas.security.sasl.add_scram import SALT_BYTES
from barnabas.security.sasl.scram_credentials import ITERATIONS_MIN
from barnabas.testing.client.helper_client import PAUSE_SECONDS, Deadline, HelperClient, KafkaRefused
from barnabas.testing.faults.names import operation_named
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName


def add_user(client: HelperClient, name: str, password: str, deadline: Deadline) -> None:
    """Every broker that can be reached knows the user and the password when this returns."""
    salt = secrets.token_bytes(SALT_BYTES)
    credential = ScramCredentialUpsertion(
        name=name,
        mechanism=ADMIN_MECHANISM.number,
        iterations=ITERATIONS_MIN,
        salt=salt,
        salted_password=ADMIN_MECHANISM.salted(password, salt, ITERATIONS_MIN),
    )
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[credential])
    _changed(client, request, f"User {name} cannot be added", deadline)
    described = DescribeUserScramCredentialsRequest(users=[UserName(name=name)])
    _await_everywhere(
        client,
        described,
        lambda response: any(each.mechanism == ADMIN_MECHANISM.number for found in response.results for each in found.credential_infos),
        f"not all brokers know the user {name}",
        deadline,
    )


def allow(client: HelperClient, user: str, operations: Iterable[str], resource: tuple[ResourceType, str], deadline: Deadline) -> None:
    """Every broker that can be reached decides by the new rules when this returns."""
    kind, name = resource
    rules = [_rule(user, operation_named(each), kind, name) for each in operations]
    _changed(client, CreateAclsRequest(creations=rules), f"User {user} cannot be given rights", deadline)
    for rule in rules:
        described = DescribeAclsRequest(
            resource_type_filter=rule.resource_type,
            resource_name_filter=rule.resource_name,
            pattern_type_filter=rule.resource_pattern_type,
            principal_filter=rule.principal,
            host_filter=rule.host,
            operation=rule.operation,
            permission_type=rule.permission_type,
        )
        waiting = f"not all brokers know the rights of user {user}"
        _await_everywhere(client, described, lambda response: bool(response.resources), waiting, deadline)


def resource_named(*, topic: str | None, group: str | None, transactional_id: str | None) -> tuple[ResourceType, str]:
    """The cluster if no other resource is named."""
    named = {ResourceType.TOPIC: topic, ResourceType.GROUP: group, ResourceType.TRANSACTIONAL_ID: transactional_id}
    given = [(kind, name) for kind, name in named.items() if name is not None]
    if len(given) > 1:
        raise ValueError("Name one resource at a time: topic, group or transactional_id; without one it is the cluster.")
    return given[0] if given else (ResourceType.CLUSTER, CLUSTER_NAME)


def _rule(user: str, operation: Operation, kind: ResourceType, name: str) -> AclCreation:
    return AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=PatternType.LITERAL,
        principal=f"User:{user}",
        host=ANY_HOST,
        operation=operation,
        permission_type=Permission.ALLOW,
    )


def _changed(client: HelperClient, request: Any, failure: str, deadline: Deadline) -> None:
    response = client.retry(
        lambda: client.ask_any(request, deadline), lambda response: [each.error_code for each in response.results], deadline
    )
    for each in response.results:
        if each.error_code != ErrorCode.NONE:
            raise KafkaRefused(failure, each.error_code, each.error_message)


def _await_everywhere(client: HelperClient, request: Any, holds: Callable[[Any], bool], waiting: str, deadline: Deadline) -> None:
    for address in client.addresses():
        while not holds(client.ask(address, request, deadline)):
            if deadline.over:
                raise TimeoutError(f"After {deadline.seconds:g} seconds {waiting}.")
            time.sleep(PAUSE_SECONDS)
