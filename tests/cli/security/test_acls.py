"""``barnabas acls`` against Apache Kafka and against Barnabas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.narrow_terminal import COLUMNS, on_terminal
from tests.cli.running import Cli
from tests.cli.security.authorizing import Authorizing
from tests.waiting import until


@pytest.fixture(autouse=True)
def without_rules(authorizing: Authorizing, cli: Cli) -> Iterator[None]:
    yield
    for each in cli("acls", "list", "--json").json:
        cli("acls", "remove", "--yes", f"--{each['permission']}", each["principal"])
    until(lambda: cli("acls", "list", "--json").json == [], "the rules are removed")


def shown(cli: Cli, *words: object) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in cli("acls", "list", "--json", *words).json]


def listed(cli: Cli, count: int, *words: object) -> list[tuple[str, ...]]:
    """Kafka answers a creation when the controller has it; its brokers have it a little later."""
    until(lambda: len(shown(cli, *words)) == count, f"{count} rules are listed")
    return shown(cli, *words)


def test_a_rule_of_each_kind_is_added_and_listed(cli: Cli) -> None:
    cli("acls", "add", "--allow", "User:alice", "--operation", "read", "--topic", "orders")
    cli("acls", "add", "--deny", "User:bob", "--operation", "DescribeConfigs", "--topic", "or", "--prefixed", "--host", "127.0.0.9")
    cli("acls", "add", "--allow", "User:alice", "--operation", "delete", "--group", "readers")
    cli("acls", "add", "--allow", "User:alice", "--transactional-id", "tx")
    cli("acls", "add", "--allow", "User:alice", "--operation", "describe", "--token", "id-of-token")
    cli("acls", "add", "--allow", "User:alice", "--operation", "create-tokens", "--user", "User:bob")
    cli("acls", "add", "--allow", "User:*", "--operation", "cluster-action", "--cluster")
    assert sorted(listed(cli, 7)) == [
        ("allow", "User:*", "cluster-action", "cluster", "kafka-cluster", "literal", "*"),
        ("allow", "User:alice", "all", "transactional-id", "tx", "literal", "*"),
        ("allow", "User:alice", "create-tokens", "user", "User:bob", "literal", "*"),
        ("allow", "User:alice", "delete", "group", "readers", "literal", "*"),
        ("allow", "User:alice", "describe", "delegation-token", "id-of-token", "literal", "*"),
        ("allow", "User:alice", "read", "topic", "orders", "literal", "*"),
        ("deny", "User:bob", "describe-configs", "topic", "or", "prefixed", "127.0.0.9"),
    ]


def test_a_producer_and_a_consumer_get_what_they_need(cli: Cli) -> None:
    words = ("--topic", "orders", "--transactional-id", "tx", "--idempotent")
    added = cli("acls", "add", "--allow", "User:p", "--producer", *words, "--json").json
    assert {(each["operation"], each["resource_type"]) for each in added} == {
        ("write", "topic"),
        ("describe", "topic"),
        ("create", "topic"),
        ("write", "transactional-id"),
        ("describe", "transactional-id"),
        ("idempotent-write", "cluster"),
    }
    added = cli("acls", "add", "--allow", "User:c", "--consumer", "--topic", "orders", "--group", "readers", "--json").json
    assert {(each["operation"], each["resource_type"]) for each in added} == {("read", "topic"), ("describe", "topic"), ("read", "group")}
    listed(cli, 9)
    assert cli("acls", "remove", "--allow", "User:p", "--producer", *words, "--yes").code == 0
    assert {row[1] for row in listed(cli, 3)} == {"User:c"}


def test_a_list_is_filtered(cli: Cli) -> None:
    cli("acls", "add", "--allow", "User:alice", "--operation", "read", "--operation", "write", "--topic", "orders", "--topic", "other")
    cli("acls", "add", "--allow", "User:bob", "--operation", "read", "--topic", "or", "--prefixed")
    cli("acls", "add", "--deny", "User:mallory", "--topic", "*")
    listed(cli, 6)
    assert len(shown(cli, "--topic", "orders")) == 4
    assert len(shown(cli, "--topic", "orders", "--literal")) == 2
    assert [row[1] for row in shown(cli, "--topic", "or", "--prefixed")] == ["User:bob"]
    assert len(shown(cli, "--principal", "User:alice", "--operation", "read")) == 2
    assert len(shown(cli, "--principal", "User:alice", "--principal", "User:bob")) == 5
    assert shown(cli, "--group", "readers") == []


def test_a_removal_shows_its_rules_and_wants_a_yes(cli: Cli) -> None:
    cli("acls", "add", "--allow", "User:alice", "--operation", "read", "--operation", "write", "--topic", "orders")
    listed(cli, 2)
    dry = cli("acls", "remove", "--topic", "orders", "--operation", "read", "--dry-run").text
    assert "read" in dry
    assert "write" not in dry
    refused = cli("acls", "remove", "--topic", "orders", "--operation", "read")
    assert (
        refused.err
        == "barnabas: This is not a terminal, so the question cannot be asked: give --yes, or --dry-run to see the rules alone.\n"
    )
    listed(cli, 2)
    removed = cli("acls", "remove", "--topic", "orders", "--operation", "read", "--yes")
    assert (removed.code, removed.err) == (0, "Removed 1 rule.\n")
    assert [row[2] for row in listed(cli, 1)] == ["write"]
    assert cli("acls", "remove", "--group", "none", "--yes").text == ""


def test_a_check_names_the_rule_that_decides(cli: Cli, authorizing: Authorizing) -> None:
    cli("acls", "add", "--allow", "User:alice", "--operation", "read", "--topic", "or", "--prefixed")
    cli("acls", "add", "--deny", "User:*", "--operation", "describe", "--topic", "orders", "--host", "127.0.0.9")
    listed(cli, 2)

    def asked(*words: str) -> dict[str, Any]:
        answer: dict[str, Any] = dict(cli("acls", "check", "User:alice", *words, "--json")._replace(code=0, err="").json)
        return answer

    allowed = asked("read", "topic", "orders")
    assert allowed["allowed"] is True
    assert allowed["rule"]["pattern"] == "prefixed"
    implied = asked("describe", "topic", "orders")
    assert (implied["allowed"], implied["rule"]["operation"], implied["differs_at"]) == (True, "read", ["127.0.0.9"])
    denied = asked("describe", "topic", "orders", "--host", "127.0.0.9")
    assert (denied["allowed"], denied["rule"]["permission"]) == (False, "deny")
    assert (asked("write", "topic", "orders")["allowed"], asked("write", "topic", "orders")["reason"]) == (False, "no_match")
    assert asked("write", "topic", "elsewhere")["reason"] == "no_rules"
    assert asked("alter", "cluster")["super_users_known"] is authorizing.tells_super_users
    done = cli("acls", "check", "User:alice", "write", "topic", "orders")
    assert done.code == 1
    assert done.out.decode() == (
        "User:alice may not write topic orders: there are rules about this resource, and none of them allows it.\n"
    )


def test_the_table_fits_a_terminal_of_80_columns(cli: Cli) -> None:
    assert on_terminal(cli, "acls", "list") == ["There are no rules."]
    long = "a-topic-whose-name-is-so-long-that-no-table-of-eighty-columns-has-room-for-it"
    cli(
        "acls", "add", "--allow", "User:CN=alice,OU=A department,O=An organization,C=DE", "--operation", "describe-configs", "--topic", long
    )
    listed(cli, 1)
    lines = on_terminal(cli, "acls", "list")
    assert len(lines) > 2
    assert max(map(len, lines)) <= COLUMNS
