"""Decisions, against a plain reading of all rules one after another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.model.ids import Uuid
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, Resource, ResourceType
from barnabas.security.acls.authorizer import Authorizer
from barnabas.security.principal import Principal

ALICE = Principal("User", "alice")
BOB = Principal("User", "bob")
HOST = "10.0.0.1"


def acl(
    name: str,
    operation: Operation,
    *,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = "User:alice",
    host: str = "*",
    permission: Permission = Permission.ALLOW,
    kind: ResourceType = ResourceType.TOPIC,
) -> Acl:
    return Acl(kind, name, pattern, principal, host, operation, permission)


def authorizer(*rules: Acl, super_users: tuple[str, ...] = (), allow_if_no_acl: bool = False) -> Authorizer:
    made = Authorizer(super_users=super_users, allow_if_no_acl=allow_if_no_acl)
    for number, rule in enumerate(rules):
        made.index.add(Uuid(number.to_bytes(16, "big")), rule)
    return made


def topic(name: str) -> Resource:
    return Resource(ResourceType.TOPIC, name)


def test_a_permission_of_a_later_version_denies() -> None:
    later = acl("t", Operation.READ, permission=Permission.UNKNOWN)
    assert not authorizer(later).may(ALICE, HOST, Operation.READ, topic("t"))
    assert not authorizer(acl("t", Operation.READ), later).may(ALICE, HOST, Operation.READ, topic("t"))


def test_without_rules_the_default_decides() -> None:
    assert not authorizer().may(ALICE, HOST, Operation.READ, topic("t"))
    assert authorizer(allow_if_no_acl=True).may(ALICE, HOST, Operation.READ, topic("t"))


def test_a_rule_for_another_user_turns_the_default_off() -> None:
    made = authorizer(acl("t", Operation.READ, principal="User:bob"), allow_if_no_acl=True)
    assert not made.may(ALICE, HOST, Operation.READ, topic("t"))
    assert made.may(ALICE, HOST, Operation.READ, topic("other"))


def test_a_deny_wins_over_every_allow() -> None:
    made = authorizer(acl("t", Operation.ALL), acl("*", Operation.READ, permission=Permission.DENY, principal="User:*"))
    assert not made.may(ALICE, HOST, Operation.READ, topic("t"))
    assert made.may(ALICE, HOST, Operation.WRITE, topic("t"))


def test_a_super_user_may_do_what_a_rule_denies() -> None:
    made = authorizer(acl("t", Operation.ALL, permission=Permission.DENY), super_users=("User:alice",))
    assert made.may(ALICE, HOST, Operation.READ, topic("t"))


@pytest.mark.parametrize("given_operation", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_an_allow_implies_describe_and_a_deny_does_not(given_operation: Operation) -> None:
    assert authorizer(acl("t", given_operation)).may(ALICE, HOST, Operation.DESCRIBE, topic("t"))
    denied = authorizer(acl("t", given_operation, permission=Permission.DENY), acl("t", Operation.DESCRIBE))
    assert denied.may(ALICE, HOST, Operation.DESCRIBE, topic("t"))


def test_alter_configs_implies_describe_configs() -> None:
    assert authorizer(acl("t", Operation.ALTER_CONFIGS)).may(ALICE, HOST, Operation.DESCRIBE_CONFIGS, topic("t"))


def test_a_prefix_matches_names_that_begin_with_it_and_is_forgotten_when_it_is_removed() -> None:
    made = authorizer(acl("pay", Operation.READ, pattern=PatternType.PREFIXED))
    assert made.may(ALICE, HOST, Operation.READ, topic("payments"))
    assert made.may(ALICE, HOST, Operation.READ, topic("pay"))
    assert not made.may(ALICE, HOST, Operation.READ, topic("pa"))
    made.index.remove(Uuid(bytes(16)))
    assert not made.may(ALICE, HOST, Operation.READ, topic("payments"))
    assert len(made.index) == 0


def test_the_audit_names_the_rule_that_decided() -> None:
    made = authorizer(acl("t", Operation.READ), super_users=("User:root",))
    assert made.decide(Principal("User", "root"), HOST, Operation.READ, topic("t")).rule == "SuperUser"
    assert made.decide(BOB, HOST, Operation.READ, topic("t")).rule == "DefaultDeny"
    assert "resourceName=t" in made.decide(ALICE, HOST, Operation.READ, topic("t")).rule


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ([acl("t", Operation.WRITE)], True),
        ([acl("t", Operation.WRITE), acl("t", Operation.WRITE, permission=Permission.DENY)], False),
        ([acl("*", Operation.WRITE), acl("t", Operation.WRITE, permission=Permission.DENY)], True),
        ([acl("t", Operation.WRITE), acl("*", Operation.ALL, permission=Permission.DENY)], False),
        ([acl("team-", Operation.WRITE, pattern=PatternType.PREFIXED)], True),
        (
            [
                acl("team-a", Operation.WRITE, pattern=PatternType.PREFIXED),
                acl("team", Operation.WRITE, pattern=PatternType.PREFIXED, permission=Permission.DENY),
            ],
            False,
        ),
        ([acl("t", Operation.READ)], False),
        ([], False),
    ],
)
def test_whether_some_topic_may_be_written(rules: list[Acl], allowed: bool) -> None:
    assert authorizer(*rules).may_for_some(ALICE, HOST, Operation.WRITE, ResourceType.TOPIC) is allowed


names = st.sampled_from(["*", "a", "ab", "abc", "b", "ba"])
rules = st.lists(
    st.builds(
        Acl,
        st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
        names,
        st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
        st.sampled_from(["User:alice", "User:bob", "User:*"]),
        st.sampled_from(["*", HOST, "10.0.0.2"]),
        st.sampled_from([Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER_CONFIGS]),
        st.sampled_from([Permission.ALLOW, Permission.DENY]),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(rules, names, st.sampled_from([Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.WRITE]), st.booleans())
def test_the_index_decides_as_a_reading_of_all_rules(given_rules: list[Acl], name: str, operation: Operation, default: bool) -> None:
    made = authorizer(*given_rules, allow_if_no_acl=default)
    assert made.may(ALICE, HOST, operation, topic(name)) is _by_reading(given_rules, name, operation, default)


def _by_reading(all_rules: list[Acl], name: str, operation: Operation, default: bool) -> bool:
    about = [each for each in all_rules if each.resource_type is ResourceType.TOPIC and _matches(each, name)]
    if not about:
        return default
    mine = [each for each in about if each.principal in ("User:alice", "User:*") and each.host in ("*", HOST)]
    if any(each.permission is Permission.DENY and each.operation in (Operation.ALL, operation) for each in mine):
        return False
    enough = {Operation.ALL, operation}
    if operation is Operation.DESCRIBE:
        enough |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    if operation is Operation.DESCRIBE_CONFIGS:
        enough |= {Operation.ALTER_CONFIGS}
    return any(each.permission is Permission.ALLOW and each.operation in enough for each in mine)


def _matches(rule: Acl, name: str) -> bool:
    if rule.pattern_type is PatternType.PREFIXED:
        return name.startswith(rule.resource_name)
    return rule.resource_name in ("*", name)
