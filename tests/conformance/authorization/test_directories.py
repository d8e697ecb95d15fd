"""Rules and passwords in a data directory that Apache Kafka and Barnabas use in turn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Operation, PatternType, Permission, ResourceType
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from peers.apache_kafka import CLUSTER_ID, apache_kafka, free_port, run_tool, server_properties, write_properties
from tests.conformance.authorization.rules import creation
from tests.conformance.authorization.sides import ADMIN, LoggedIn, settings
from tests.conformance.differential.pair import feature_levels
from tests.waiting import PATIENCE_SECONDS, until

SCRAM = "SCRAM-SHA-256"
SCRAM_256 = 1
SALT = b"salt of a test"
ITERATIONS = 4096
# So many rules that each program writes a snapshot with some of them.
RULES = 60
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "3000"}


def own_settings(port: int, controller_port: int) -> dict[str, str]:
    return (
        settings([], port, controller_port)
        | SNAPSHOTS
        | {
            "listener.name.sasl_plaintext.sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
            "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }
    )


@contextmanager
def kafka(data: Path, port: int, controller_port: int) -> Iterator[str]:
    with apache_kafka(data, extra=own_settings(port, controller_port), format_storage=False, port=port) as (bootstrap, _):
        yield bootstrap


@contextmanager
def barnabas(data: Path, port: int, controller_port: int) -> Iterator[str]:
    config = server_properties(data, port, controller_port, own_settings(port, controller_port))
    with EmbeddedBroker(data_dir=data, config=config) as node:
        yield node.bootstrap


def any_rule() -> dict[str, Any]:
    return {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }


class Contents:
    """Everything that was written so far."""

    def __init__(self) -> None:
        self.rules: set[tuple[Any, ...]] = set()
        self.passwords: dict[str, str] = {}

    def write(self, bootstrap: str, by: str) -> None:
        """Rules, users and topics of its own for each program; some rules of the other are
        removed."""
        with LoggedIn(bootstrap, ADMIN) as admin:
            created = [creation(f"READ topic {by}-{number}", "User:reader") for number in range(RULES)]
            created += [
                creation(f"READ topic {by}*", f"User:{by}-user"),
                creation(f"DENY ALL topic {by}-hidden from 127.0.0.1", "User:*"),
                creation("DESCRIBE cluster", f"User:{by}-user"),
            ]
            results = admin.ask(CreateAclsRequest(creations=created), 3).results
            assert not any(each.error_code for each in results)
            self.rules |= {
                (
                    each.resource_type,
                    each.resource_name,
                    each.resource_pattern_type,
                    each.principal,
                    each.host,
                    each.operation,
                    each.permission_type,
                )
                for each in created
            }
            self._delete(admin, f"{by}-1")
            self._set_password(admin, f"{by}-user", f"password of {by}")
            for name in (f"{by}-visible", f"{by}-hidden"):
                topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
                assert admin.ask(CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == ErrorCode.NONE

    def _delete(self, admin: LoggedIn, name: str) -> None:
        request = DeleteAclsRequest(filters=[DeleteAclsFilter(**any_rule() | {"resource_name_filter": name})])
        (result,) = admin.ask(request, 3).filter_results
        assert len(result.matching_acls) == 1
        self.rules = {each for each in self.rules if each[1] != name}

    def _set_password(self, admin: LoggedIn, user: str, password: str) -> None:
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), SALT, ITERATIONS)
        upsertion = ScramCredentialUpsertion(name=user, mechanism=SCRAM_256, iterations=ITERATIONS, salt=SALT, salted_password=salted)
        (result,) = admin.ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]), 0).results
        assert result.error_code == ErrorCode.NONE
        self.passwords[user] = password

    def verify(self, bootstrap: str) -> None:
        with LoggedIn(bootstrap, ADMIN) as admin:
            until(lambda: listed(admin) == self.rules, "all rules are listed", seen=lambda: len(listed(admin)))
        for user, password in self.passwords.items():
            await_sight(bootstrap, user, password)


def await_sight(bootstrap: str, user: str, password: str) -> None:
    """The user logs in, and sees the topic that it may read and not the one that it may not."""
    visible = {f"{user.removesuffix('-user')}-visible"}
    until(lambda: seen_by(bootstrap, user, password) == visible, f"{user} sees {visible}", retry_on=KafkaException)


def listed(admin: LoggedIn) -> set[tuple[Any, ...]]:
    return {
        (each.resource_type, each.resource_name, each.pattern_type, acl.principal, acl.host, acl.operation, acl.permission_type)
        for each in admin.ask(DescribeAclsRequest(**any_rule()), 3).resources
        for acl in each.acls
    }


def seen_by(bootstrap: str, user: str, password: str) -> set[str]:
    client = AdminClient(
        {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": SCRAM,
            "sasl.username": user,
            "sasl.password": password,
            "log_level": 0,
        }
    )
    return set(client.list_topics(timeout=PATIENCE_SECONDS).topics)


def snapshots(data: Path) -> set[str]:
    return {path.name for path in (data / "__cluster_metadata-0").glob("*.checkpoint") if not path.name.startswith("0" * 20 + "-")}


def await_snapshot(data: Path, known: set[str]) -> set[str]:
    return until(lambda: snapshots(data) - known, "the program writes a snapshot")


@pytest.mark.timeout(600)
def test_rules_and_passwords_survive_a_change_of_the_program(tmp_path: Path) -> None:
    data, port, controller_port = tmp_path / "data", free_port(), free_port()
    properties = tmp_path / "format.properties"
    write_properties(properties, server_properties(data, port, controller_port, own_settings(port, controller_port)))
    levels = [part for name, level in feature_levels() for part in ("--feature", f"{name}={level}")]
    run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), *levels)
    contents = Contents()
    written: set[str] = set()
    for by, program in (("first", kafka), ("second", barnabas), ("third", kafka)):
        with program(data, port, controller_port) as bootstrap:
            contents.verify(bootstrap)
            contents.write(bootstrap, by)
            contents.verify(bootstrap)
            written |= await_snapshot(data, written)
