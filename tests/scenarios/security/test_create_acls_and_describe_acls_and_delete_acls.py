"""CreateAcls, DescribeAcls and DeleteAcls, and what they change for a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Operation, PatternType, Permission
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.acl_creation import acl_creation
from tests.scenarios.client import Client, batch_of
from tests.scenarios.security.logged_in import log_in, with_authorizer


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=with_authorizer()) as running:
        yield running


@pytest.fixture
def admin(kafka: EmbeddedBroker) -> Iterator[Client]:
    with log_in(kafka, "admin") as client:
        yield client


@pytest.fixture
def alice(kafka: EmbeddedBroker, admin: Client) -> Iterator[Client]:
    """Without any permission."""
    delete(admin)
    with log_in(kafka, "alice") as client:
        yield client


def rule(
    name: str, operation: Operation, permission: Permission = Permission.ALLOW, pattern: PatternType = PatternType.LITERAL
) -> AclCreation:
    return acl_creation(resource_name=name, resource_pattern_type=pattern, operation=operation, permission_type=permission)


def create(client: Client, *rules: AclCreation) -> list[int]:
    return [each.error_code for each in client.ask(CreateAclsRequest(creations=list(rules)), 3).results]


def everything() -> dict[str, Any]:
    return {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }


def delete(client: Client) -> int:
    (result,) = client.ask(DeleteAclsRequest(filters=[DeleteAclsFilter(**everything())]), 3).filter_results
    return len(result.matching_acls)


def described(client: Client) -> int:
    response = client.ask(DescribeAclsRequest(**everything()), 3)
    assert response.error_code == ErrorCode.NONE
    return sum(len(each.acls) for each in response.resources)


def error_of(client: Client, topic: str) -> int:
    (found,) = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False), 12).topics
    code: int = found.error_code
    return code


def test_a_rule_takes_effect_with_the_response_that_confirms_it(admin: Client, alice: Client) -> None:
    admin.create_topic("orders")
    assert error_of(alice, "orders") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert create(admin, rule("orders", Operation.READ)) == [ErrorCode.NONE]
    assert error_of(alice, "orders") == ErrorCode.NONE
    assert delete(admin) == 1
    assert error_of(alice, "orders") == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_topic_that_does_not_exist_looks_like_one_that_is_denied(admin: Client, alice: Client) -> None:
    admin.create_topic("hidden")
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="hidden"), MetadataRequestTopic(name="absent")], allow_auto_topic_creation=True
    )
    hidden, absent = alice.ask(request, 12).topics
    hidden.name = absent.name
    assert hidden == absent


def test_the_same_rule_is_kept_once(admin: Client, alice: Client) -> None:
    assert create(admin, rule("t", Operation.READ), rule("t", Operation.READ)) == [ErrorCode.NONE] * 2
    assert create(admin, rule("t", Operation.READ)) == [ErrorCode.NONE]
    assert described(admin) == 1


def test_a_produce_that_was_allowed_before_is_denied_after_a_new_rule(admin: Client, alice: Client) -> None:
    """The broker remembers repeated requests of a connection, and must not remember a
    permission."""
    admin.create_topic("written")
    create(admin, rule("written", Operation.WRITE))
    for _ in range(3):
        assert alice.produce_batch("written", 0, batch_of([b"x"])).error_code == ErrorCode.NONE
    create(admin, rule("writ", Operation.WRITE, Permission.DENY, PatternType.PREFIXED))
    assert alice.produce_batch("written", 0, batch_of([b"x"])).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_rules_need_permission_to_alter_the_cluster(alice: Client) -> None:
    assert create(alice, rule("t", Operation.READ)) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert alice.ask(DescribeAclsRequest(**everything()), 3).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_node_without_an_authorizer_has_no_rules() -> None:
    with EmbeddedBroker() as kafka, Client(kafka.bootstrap) as client:
        assert create(client, rule("t", Operation.READ)) == [ErrorCode.SECURITY_DISABLED]
        assert client.ask(DescribeAclsRequest(**everything()), 3).error_code == ErrorCode.SECURITY_DISABLED
