from __future__ import annotations

import pytest

from barnabas.cli.acls.rule_names import operation_named, resource_type_named
from barnabas.cli.acls.rules import Roles, Subjects, filters, resources_named, rules
from barnabas.cli.errors import Refused
from barnabas.security.acls.acl import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType
from barnabas.security.acls.acl_filter import AclFilter
from barnabas.security.acls.words import name_of, resource_text


def test_rules_are_all_combinations() -> None:
    made = rules(
        resources_named(topics=["a", "b"]),
        [Operation.READ],
        Roles(),
        Subjects(["User:x"], ["User:y"], ["h1", "h2"]),
        PatternType.LITERAL,
    )
    assert len(made) == 8
    assert Acl(ResourceType.TOPIC, "b", PatternType.LITERAL, "User:y", "h2", Operation.READ, Permission.DENY) in made


def test_a_prefix_concerns_no_cluster() -> None:
    made = rules(resources_named(topics=["a"], cluster=True), [Operation.DESCRIBE], Roles(), Subjects(["User:x"]), PatternType.PREFIXED)
    assert [(each.resource_name, each.pattern_type) for each in made] == [("a", PatternType.PREFIXED), (CLUSTER_NAME, PatternType.LITERAL)]


def test_a_filter_without_words_accepts_everything() -> None:
    assert filters([], [], Roles(), Subjects(), PatternType.MATCH) == [AclFilter()]


def test_a_filter_has_what_is_named_and_accepts_the_rest() -> None:
    (made,) = filters(resources_named(groups=["g"]), [], Roles(), Subjects(denied=["User:x"]), PatternType.LITERAL)
    assert made == AclFilter(ResourceType.GROUP, "g", PatternType.LITERAL, "User:x", None, Operation.ANY, Permission.DENY)


@pytest.mark.parametrize("text", ["describe-configs", "DescribeConfigs", "DESCRIBE_CONFIGS", "describeconfigs"])
def test_operations_are_understood_in_every_spelling_of_kafka(text: str) -> None:
    assert operation_named(text) is Operation.DESCRIBE_CONFIGS
    assert name_of(Operation.DESCRIBE_CONFIGS) == "describe-configs"


def test_unknown_words_are_refused_with_the_known_ones() -> None:
    with pytest.raises(Refused, match=r"There is no operation 'peek'; there are all, read, write, "):
        operation_named("peek")
    with pytest.raises(Refused, match=r"There is no type of resource 'any'; there are topic, group, cluster, "):
        resource_type_named("any")


def test_resources_in_sentences() -> None:
    assert resource_text(ResourceType.TOPIC, "*") == "every topic"
    assert resource_text(ResourceType.TRANSACTIONAL_ID, "tx", PatternType.PREFIXED) == "transactional ids that begin with tx"
