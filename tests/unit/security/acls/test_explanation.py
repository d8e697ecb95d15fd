from __future__ import annotations

from barnabas.security.acls.acl import CLUSTER, Acl, Operation, PatternType, Permission, Resource, ResourceType
from barnabas.security.acls.explanation import Question, Reason, Settings, explain
from barnabas.security.principal import parse_principal

ORDERS = Resource(ResourceType.TOPIC, "orders")
ALLOW = Acl(ResourceType.TOPIC, "or", PatternType.PREFIXED, "User:alice", "*", Operation.READ, Permission.ALLOW)
DENY = Acl(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:*", "10.0.0.1", Operation.ALL, Permission.DENY)


def asked(operation: Operation, *, who: str = "User:alice", resource: Resource = ORDERS, host: str = "*") -> Question:
    return Question(parse_principal(who), operation, resource, host)


def test_the_rule_that_allows_is_named() -> None:
    explained = explain(asked(Operation.DESCRIBE), [ALLOW], Settings())
    assert (explained.allowed, explained.reason, explained.rule) == (True, Reason.RULE, ALLOW)
    assert explained.sentence() == "User:alice may describe topic orders: this rule allows it."


def test_a_rule_that_denies_wins_and_is_named() -> None:
    explained = explain(asked(Operation.READ, host="10.0.0.1"), [ALLOW, DENY], Settings())
    assert (explained.allowed, explained.rule) == (False, DENY)
    assert explained.sentence() == "User:alice may not read topic orders from 10.0.0.1: this rule denies it."


def test_hosts_where_the_decision_differs_are_listed() -> None:
    assert explain(asked(Operation.READ), [ALLOW, DENY], Settings()).differs_at == ("10.0.0.1",)
    assert explain(asked(Operation.WRITE), [ALLOW, DENY], Settings()).differs_at == ()


def test_without_rules_a_setting_of_the_broker_decides() -> None:
    open_default = explain(asked(Operation.READ), [], Settings(allow_if_no_acl=True))
    assert (open_default.allowed, open_default.reason) == (True, Reason.NO_RULES)
    assert explain(asked(Operation.READ), [], Settings()).sentence() == (
        "User:alice may not read topic orders: no rule is about this resource, and allow.everyone.if.no.acl.found is false."
    )


def test_a_rule_about_another_operation_turns_the_default_off() -> None:
    explained = explain(asked(Operation.WRITE), [ALLOW], Settings(allow_if_no_acl=True))
    assert (explained.allowed, explained.reason) == (False, Reason.NO_MATCH)


def test_a_super_user_may_do_what_a_rule_denies() -> None:
    settings = Settings.of_broker({"super.users": "User:root;User:alice", "allow.everyone.if.no.acl.found": "false"})
    explained = explain(asked(Operation.READ, host="10.0.0.1"), [DENY], settings)
    assert explained.sentence() == "User:alice may read topic orders from 10.0.0.1: it is a super user."


def test_the_cluster_needs_no_name_in_a_sentence() -> None:
    explained = explain(asked(Operation.ALTER, resource=CLUSTER), [], Settings())
    assert explained.sentence().startswith("User:alice may not alter the cluster: ")


def test_settings_that_a_broker_hides_are_unknown() -> None:
    assert Settings.of_broker({"super.users": None}) == Settings(None, None)
    assert Settings.of_broker({"super.users": "nonsense"}).super_users is None
