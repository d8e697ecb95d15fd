from __future__ import annotations

from barnabas.console.core.acl_matrix import MatrixCell, matrix, shown_rule
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, Resource, ResourceType
from barnabas.security.acls.explanation import Settings

_ORDERS = Resource(ResourceType.TOPIC, "orders")
_PREFIX = Acl(ResourceType.TOPIC, "or", PatternType.PREFIXED, "User:alice", "*", Operation.READ, Permission.ALLOW)
_EVERYONE = Acl(ResourceType.TOPIC, "*", PatternType.LITERAL, "User:*", "*", Operation.DESCRIBE_CONFIGS, Permission.ALLOW)
_DENY = Acl(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:alice", "10.0.0.1", Operation.READ, Permission.DENY)
_OTHER = Acl(ResourceType.TOPIC, "payments", PatternType.LITERAL, "User:carol", "*", Operation.ALL, Permission.ALLOW)
_ALL = (_PREFIX, _EVERYONE, _DENY, _OTHER)


def _cells(principal: str, *, settings: Settings | None = None) -> dict[str, MatrixCell]:
    rows = matrix(_ALL, _ORDERS, settings or Settings(("User:admin",)), ["User:bob"])
    (row,) = [each for each in rows if each.principal == principal]
    return {each.operation: each for each in row.cells}


def test_rows_are_the_principals_of_rules_about_the_resource_users_and_super_users() -> None:
    rows = matrix(_ALL, _ORDERS, Settings(("User:admin",)), ["User:bob"])
    assert [each.principal for each in rows] == ["User:admin", "User:alice", "User:bob", "User:*"]
    assert [each.is_everyone_else for each in rows] == [False, False, False, True]


def test_prefixes_wildcards_and_implied_operations_are_resolved_and_the_rule_is_named() -> None:
    cells = _cells("User:alice")
    assert {name for name, each in cells.items() if each.is_allowed} == {"read", "describe", "describe-configs"}
    assert cells["describe"].rule == shown_rule(_PREFIX)
    assert cells["describe-configs"].rule == shown_rule(_EVERYONE)
    assert "User:alice may read topics that begin with or" in cells["describe"].sentence


def test_a_decision_that_depends_on_the_address_says_where_it_differs() -> None:
    assert _cells("User:alice")["read"].differs_at == ["10.0.0.1"]
    assert _cells("User:bob")["read"].differs_at == []


def test_a_super_user_may_do_everything() -> None:
    assert {each.reason for each in _cells("User:admin").values()} == {"super_user"}
    assert all(each.is_allowed for each in _cells("User:admin").values())


def test_everyone_else_has_the_rules_for_everyone() -> None:
    assert {name for name, each in _cells("User:*").items() if each.is_allowed} == {"describe-configs"}
