"""Access: what it remembers, what it forgets, and what it writes down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import barnabas.api.access as access_module
from barnabas.api.access import EVERYTHING, Access
from barnabas.api.broker import Broker
from barnabas.api.broker_apis import init_producer_id
from barnabas.api.needs import CLUSTER_ACTION, DESCRIBE_CLUSTER, DESCRIBE_TOPIC, READ_TOPIC, WRITE_TOPIC
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection
from barnabas.security.acls.acl import CLUSTER_NAME, Acl, Operation, PatternType, Permission, Resource, ResourceType
from barnabas.security.acls.authorizer import Authorizer, Decision
from barnabas.security.acls.operations import OPERATIONS
from barnabas.security.principal import Principal
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

ALICE = Principal("User", "alice")
ADMIN = Principal("User", "admin")
RULE_ID = Uuid(b"id-of-a-rule----")


class Journal(EventLog):
    """Keeps what was written."""

    def __init__(self, level: str = "INFO") -> None:
        super().__init__(level)
        self.events: list[tuple[str, str, dict[str, Any]]] = []

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        if self.writes(level):
            self.events.append((level, event, values))


class Counting(Authorizer):
    """Counts decisions."""

    decisions = 0

    def decide(self, principal: Principal, host: str, operation: Operation, resource: Resource) -> Decision:
        self.decisions += 1
        return super().decide(principal, host, operation, resource)


def caller(principal: Principal = ALICE, address: str = "10.0.0.1") -> Caller:
    connection = SimpleNamespace(principal=principal, peer_address=(address, 1))
    return Caller(cast(Connection, connection), 1, 1, "client", api="Fetch")


def rule(name: str = "t", operation: Operation = Operation.READ, permission: Permission = Permission.ALLOW) -> Acl:
    return Acl(ResourceType.TOPIC, name, PatternType.LITERAL, "User:alice", "*", operation, permission)


class Node:
    """An access with one rule: alice may read the topic t."""

    def __init__(self, level: str = "INFO", *, ready: bool = True) -> None:
        self.authorizer = Counting(super_users=["User:admin"])
        self.journal = Journal(level)
        self.access = Access(self.authorizer, self.journal)
        self.access.change([(RULE_ID, rule())])
        if ready:
            self.access.become_ready()


# -- without an authorizer -----------------------------------------------------------------------


def test_a_node_without_an_authorizer_allows_everything() -> None:
    access = Access(None, Journal())
    assert not access.enabled
    assert access.may(caller(), READ_TOPIC, "t")
    assert access.allowed(caller(), READ_TOPIC, ["t"]) is EVERYTHING
    assert access.names_allowed(caller(), READ_TOPIC) is EVERYTHING
    assert access.may_for_some(caller(), READ_TOPIC)
    for kind, operations in OPERATIONS.items():
        assert access.operations(caller(), kind, "x") == sum(1 << each for each in operations)


# -- before the rules are known ------------------------------------------------------------------


def test_a_node_that_has_not_read_the_rules_denies_all_but_super_users() -> None:
    node = Node(ready=False)
    assert not node.access.may(caller(), READ_TOPIC, "t")
    assert not node.access.may_for_some(caller(), READ_TOPIC)
    assert node.access.may(caller(ADMIN), READ_TOPIC, "t")
    assert node.access.may_for_some(caller(ADMIN), READ_TOPIC)
    assert node.journal.events[0][2]["rule"] == "AuthorizerNotReady"


def test_a_denial_of_the_start_is_not_remembered() -> None:
    node = Node(ready=False)
    assert not node.access.may(caller(), READ_TOPIC, "t")
    before = node.access.version
    node.access.become_ready()
    assert node.access.version == before + 1
    assert node.access.may(caller(), READ_TOPIC, "t")


# -- remembering ---------------------------------------------------------------------------------


def test_a_permission_is_decided_once() -> None:
    node = Node()
    for _ in range(3):
        assert node.access.may(caller(), READ_TOPIC, "t")
    assert node.authorizer.decisions == 1


def test_a_denial_is_decided_and_written_down_every_time() -> None:
    node = Node()
    for _ in range(3):
        assert not node.access.may(caller(), WRITE_TOPIC, "t")
    assert node.authorizer.decisions == 3
    assert len(node.journal.events) == 3


def test_a_permission_of_one_caller_is_not_that_of_another() -> None:
    node = Node()
    assert node.access.may(caller(), READ_TOPIC, "t")
    assert not node.access.may(caller(Principal("User", "bob")), READ_TOPIC, "t")
    assert not node.access.may(caller(Principal("Group", "alice")), READ_TOPIC, "t")
    assert not node.access.may(caller(), READ_TOPIC, "other")
    assert not node.access.may(caller(), WRITE_TOPIC, "t")


def test_a_permission_from_one_address_is_not_one_from_another() -> None:
    node = Node()
    node.access.change([(RULE_ID, rule()._replace(host="10.0.0.1"))])
    assert node.access.may(caller(address="10.0.0.1"), READ_TOPIC, "t")
    assert not node.access.may(caller(address="10.0.0.2"), READ_TOPIC, "t")


def test_a_changed_rule_is_in_force_at_once_and_changes_the_version() -> None:
    node = Node()
    assert node.access.may(caller(), READ_TOPIC, "t")
    before = node.access.version
    node.access.change([(RULE_ID, None)])
    assert not node.access.may(caller(), READ_TOPIC, "t")
    node.access.change([(RULE_ID, rule(operation=Operation.WRITE))])
    assert node.access.may(caller(), WRITE_TOPIC, "t")
    assert node.access.version == before + 2


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, "REMEMBERED_MAX", 2)
    node = Node()
    node.access.change([(RULE_ID, rule("*"))])
    for name in ("a", "b", "c", "c", "a"):
        assert node.access.may(caller(), READ_TOPIC, name)
    # All but the second "c" were decided: the third name made the node forget the first two.
    assert node.authorizer.decisions == 4


# -- lists ---------------------------------------------------------------------------------------


def test_allowed_contains_the_names_that_are_allowed() -> None:
    node = Node()
    found = node.access.allowed(caller(), READ_TOPIC, ["t", "u", "u"])
    assert "t" in found
    assert "u" not in found
    (denied,) = node.journal.events
    assert denied[2]["resource_ref_count"] == 2


def test_names_allowed_decides_when_it_is_asked() -> None:
    node = Node()
    names = node.access.names_allowed(caller(), DESCRIBE_TOPIC)
    assert node.authorizer.decisions == 0
    assert "t" in names
    assert "u" not in names
    node.access.change([(RULE_ID, rule("u"))])
    assert "u" in names
    assert node.journal.events == []


def test_operations_are_those_of_the_type_that_are_allowed() -> None:
    node = Node()
    assert node.access.operations(caller(), ResourceType.TOPIC, "t") == 1 << Operation.READ | 1 << Operation.DESCRIBE
    assert node.access.operations(caller(), ResourceType.TOPIC, "u") == 0
    assert node.journal.events == []


def test_a_caller_that_may_not_describe_the_cluster_sees_no_operations_of_it() -> None:
    node = Node()
    on_cluster = Acl(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL, "User:alice", "*", Operation.CREATE, Permission.ALLOW)
    node.access.change([(RULE_ID, on_cluster)])
    assert node.access.cluster_operations(caller(), DESCRIBE_CLUSTER) == 0
    node.access.change([(RULE_ID, on_cluster._replace(operation=Operation.ALTER))])
    assert node.access.cluster_operations(caller(), DESCRIBE_CLUSTER) == 1 << Operation.ALTER | 1 << Operation.DESCRIBE


# -- the audit log -------------------------------------------------------------------------------


def test_a_denial_names_everything_that_kafka_names() -> None:
    node = Node()
    node.access.may(caller(), CLUSTER_ACTION)
    assert node.journal.events == [
        (
            "INFO",
            "access denied",
            {
                "principal": "User:alice",
                "operation": "CLUSTER_ACTION",
                "host": "10.0.0.1",
                "resource": "Cluster:LITERAL:kafka-cluster",
                "request": "Fetch",
                "resource_ref_count": 1,
                "rule": "DefaultDeny",
            },
        )
    ]


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("TRACE", ["DEBUG allowed", "INFO denied", "TRACE allowed", "TRACE denied"]),
        ("DEBUG", ["DEBUG allowed", "INFO denied"]),
        ("INFO", ["INFO denied"]),
        ("WARN", []),
    ],
)
def test_permissions_are_written_at_debug_denials_at_info_and_filters_at_trace(level: str, written: list[str]) -> None:
    node = Node(level)
    for filters in (False, True):
        node.access.may(caller(), READ_TOPIC, "t", filters=filters)
        node.access.may(caller(), WRITE_TOPIC, "t", filters=filters)
    assert [f"{level} {event.removeprefix('access ')}" for level, event, _ in node.journal.events] == written


def test_a_log_that_shows_permissions_shows_each_of_them() -> None:
    node = Node("DEBUG")
    for _ in range(3):
        node.access.may(caller(), READ_TOPIC, "t")
    assert len(node.journal.events) == 3


def test_the_rule_that_decided_is_named() -> None:
    node = Node("DEBUG")
    node.access.may(caller(), READ_TOPIC, "t")
    node.access.may(caller(ADMIN), READ_TOPIC, "t")
    allowed, by_admin = (values["rule"] for _, _, values in node.journal.events)
    assert allowed == (
        "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=t, patternType=LITERAL, principal=User:alice, host=*, "
        "operation=READ, permissionType=ALLOW))"
    )
    assert by_admin == "SuperUser"


def test_a_denied_idempotent_producer_is_in_the_audit_log() -> None:
    node = Node()
    broker = cast(Broker, SimpleNamespace(access=node.access))
    response = init_producer_id.handle(broker, caller(), InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1))
    assert isinstance(response, InitProducerIdResponse)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    ((level, event, values),) = node.journal.events
    assert (level, event, values["operation"]) == ("INFO", "access denied", "IDEMPOTENT_WRITE")
