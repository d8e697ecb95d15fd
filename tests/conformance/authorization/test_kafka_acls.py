"""Kafka's own kafka-acls tool with a broker of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import write_properties
from tests.conformance.clients.kafka_tools import Ended, Tools, kafka_tools
from tests.scenarios.security.logged_in import PASSWORDS, with_authorizer
from tests.scenarios.security.sasl import MODULE

MAIN = "org.apache.kafka.tools.AclCommand"


class Acls:
    """The tool, run by one user."""

    def __init__(self, tools: Tools, bootstrap: str, config: Path) -> None:
        self._tools, self._where = tools, ("--bootstrap-server", bootstrap, "--command-config", config)

    def try_run(self, *arguments: str) -> Ended:
        return self._tools.try_run(MAIN, *self._where, *arguments)

    def run(self, *arguments: str) -> str:
        return self._tools.run(MAIN, *self._where, *arguments)

    def listed(self, *arguments: str) -> list[str]:
        """The entries, without the headings of the resources."""
        return sorted(line.strip() for line in self.run("--list", *arguments).splitlines() if line.lstrip().startswith("(principal="))


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=with_authorizer()) as running:
        yield running


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as running:
        yield running


def acls_of(user: str, tools: Tools, kafka: EmbeddedBroker, directory: Path) -> Acls:
    config = directory / f"{user}.properties"
    jaas = f'{MODULE} required username="{user}" password="{PASSWORDS[user]}";'
    write_properties(config, {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas})
    return Acls(tools, kafka.bootstrap, config)


@pytest.fixture
def admin(tools: Tools, kafka: EmbeddedBroker, tmp_path: Path) -> Iterator[Acls]:
    acls = acls_of("admin", tools, kafka, tmp_path)
    yield acls
    acls.run("--remove", "--force", "--topic", "*", "--resource-pattern-type", "any")


def test_rules_are_added_listed_and_removed(admin: Acls) -> None:
    admin.run("--add", "--allow-principal", "User:alice", "--operation", "Read", "--operation", "Describe", "--topic", "orders")
    admin.run(
        "--add", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--operation", "All", "--topic", "ord",
        "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    assert admin.listed("--topic", "orders") == [
        "(principal=User:alice, host=*, operation=DESCRIBE, permissionType=ALLOW)",
        "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)",
    ]
    matching = admin.listed("--topic", "orders", "--resource-pattern-type", "match")
    assert "(principal=User:bob, host=10.0.0.1, operation=ALL, permissionType=DENY)" in matching
    assert len(admin.listed("--principal", "User:bob")) == 1
    admin.run("--remove", "--force", "--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
    assert admin.listed("--topic", "orders") == ["(principal=User:alice, host=*, operation=DESCRIBE, permissionType=ALLOW)"]
    admin.run("--remove", "--force", "--topic", "orders")
    admin.run("--remove", "--force", "--topic", "ord", "--resource-pattern-type", "prefixed")
    assert admin.listed() == []


def test_the_shorthands_for_producers_and_consumers_work(admin: Acls) -> None:
    admin.run("--add", "--allow-principal", "User:alice", "--producer", "--topic", "t", "--transactional-id", "x", "--idempotent")
    admin.run("--add", "--allow-principal", "User:alice", "--consumer", "--topic", "t", "--group", "g")
    listing = admin.run("--list")
    for resource in (
        "resourceType=TOPIC, name=t",
        "resourceType=GROUP, name=g",
        "resourceType=TRANSACTIONAL_ID, name=x",
        "resourceType=CLUSTER, name=kafka-cluster",
    ):
        assert resource in listing
    admin.run("--remove", "--force", "--allow-principal", "User:alice", "--consumer", "--topic", "t", "--group", "g")
    admin.run(
        "--remove", "--force", "--allow-principal", "User:alice", "--producer", "--topic", "t", "--transactional-id", "x", "--idempotent"
    )
    assert admin.listed() == []


def test_the_tool_reports_missing_permission(admin: Acls, tools: Tools, kafka: EmbeddedBroker, tmp_path: Path) -> None:
    ended = acls_of("alice", tools, kafka, tmp_path).try_run("--list")
    assert "ClusterAuthorizationException" in ended.out + ended.err
    ended = acls_of("alice", tools, kafka, tmp_path).try_run(
        "--add", "--allow-principal", "User:alice", "--operation", "All", "--topic", "*"
    )
    assert "ClusterAuthorizationException" in ended.out + ended.err
    assert admin.listed() == []
