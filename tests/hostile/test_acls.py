"""Rules and names made by an attacker: the broker serves on, keeps its rules, and its audit log
stays readable."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.access import Access
from barnabas.api.needs import READ_TOPIC
from barnabas.controller.core.acls import CHANGES_PER_REQUEST_MAX
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection
from barnabas.security.acls.acl import Operation, PatternType, Permission
from barnabas.security.acls.authorizer import Authorizer
from barnabas.security.principal import Principal
from barnabas.telemetry.logs import EventLog, LogFormat
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.acl_creation import acl_creation
from tests.scenarios.client import Client
from tests.scenarios.security.logged_in import log_in, with_authorizer

ODD = (
    "nul\0inside",
    "new\nline",
    "carriage\rreturn",
    "\u2028separator",
    "\u202ereversed",
    'quote" level=info',
    'slash\\" principal=User:admin',
    "a" * 30_000,
    "😀",
    " ",
)
# A key and its value in the text format; a quoted value reads as Python reads it.
KEY = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"]+)')
FORGED = 'x\n{"event": "access allowed", "principal": "User:admin"}\n2026-01-01 00:00:00.000Z INFO  access allowed principal=User:admin'


@pytest.fixture
def kafka() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=with_authorizer()) as running:
        yield running


@pytest.fixture
def admin(kafka: EmbeddedBroker) -> Iterator[Client]:
    with log_in(kafka, "admin") as client:
        yield client


def create(client: Client, *creations: AclCreation) -> list[int]:
    return [each.error_code for each in client.ask(CreateAclsRequest(creations=list(creations)), 3).results]


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


def described(client: Client, **fields: Any) -> list[str]:
    response = client.ask(DescribeAclsRequest(**everything() | fields), 3)
    assert response.error_code == ErrorCode.NONE
    return [each.resource_name for each in response.resources for _ in each.acls]


def error_of(client: Client, topic: str) -> int:
    (found,) = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False), 12).topics
    code: int = found.error_code
    return code


def test_odd_names_principals_and_hosts_are_kept_as_they_are_and_survive_a_restart(kafka: EmbeddedBroker) -> None:
    with log_in(kafka, "admin") as admin:
        rules = [acl_creation(resource_name=odd) for odd in ODD]
        rules += [acl_creation(principal=f"User:{odd}") for odd in ODD] + [acl_creation(host=odd) for odd in ODD]
        assert create(admin, *rules) == [ErrorCode.NONE] * len(rules)
        assert len(described(admin)) == len(rules)
        for odd in ODD:
            assert described(admin, resource_name_filter=odd, pattern_type_filter=PatternType.LITERAL) == [odd]
            assert len(described(admin, principal_filter=f"User:{odd}")) == 1
            assert len(described(admin, host_filter=odd)) == 1
    kafka.stop()
    kafka.start()
    with log_in(kafka, "admin") as admin:
        assert len(described(admin)) == len(rules)
        (deleted,) = admin.ask(DeleteAclsRequest(filters=[DeleteAclsFilter(**everything())]), 3).filter_results
        assert len(deleted.matching_acls) == len(rules)


def test_as_many_rules_as_a_request_may_have_are_created_at_once_and_one_more_is_refused(admin: Client) -> None:
    many = [acl_creation(resource_name=f"t{number}") for number in range(CHANGES_PER_REQUEST_MAX)]
    assert set(create(admin, *many, acl_creation())) == {ErrorCode.INVALID_REQUEST}
    assert described(admin) == []
    assert set(create(admin, *many)) == {ErrorCode.NONE}
    assert len(described(admin)) == CHANGES_PER_REQUEST_MAX
    assert create(admin, acl_creation()) == [ErrorCode.NONE]
    (refused,) = admin.ask(DeleteAclsRequest(filters=[DeleteAclsFilter(**everything())]), 3).filter_results
    assert (refused.error_code, refused.matching_acls) == (ErrorCode.INVALID_REQUEST, [])
    assert len(described(admin)) == CHANGES_PER_REQUEST_MAX + 1


@pytest.mark.parametrize("number", [-128, -1, 0, 1, 50, 127])
def test_unknown_numbers_are_refused_each_with_its_own_error(admin: Client, number: int) -> None:
    codes = create(
        admin,
        acl_creation(resource_type=number),
        acl_creation(resource_pattern_type=number),
        acl_creation(operation=number),
        acl_creation(permission_type=number),
        acl_creation(resource_name="good"),
    )
    assert codes == [ErrorCode.INVALID_REQUEST] * 4 + [ErrorCode.NONE]
    assert described(admin) == ["good"]


def test_unknown_numbers_in_a_filter_are_refused(admin: Client) -> None:
    for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type"):
        for number in (-128, -1, 0, 50, 127):
            fields = everything() | {field: number}
            assert admin.ask(DescribeAclsRequest(**fields), 3).error_code == ErrorCode.INVALID_REQUEST
            (result,) = admin.ask(DeleteAclsRequest(filters=[DeleteAclsFilter(**fields)]), 3).filter_results
            assert result.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1", "::FFFF:7F00:1", "0:0:0:0:0:ffff:7f00:1"])
def test_a_denied_address_is_denied_in_every_spelling(kafka: EmbeddedBroker, admin: Client, host: str) -> None:
    admin.create_topic("t")
    assert create(admin, acl_creation()) == [ErrorCode.NONE]
    with log_in(kafka, "alice") as alice:
        assert error_of(alice, "t") == ErrorCode.NONE
        assert create(admin, acl_creation(host=host, permission_type=Permission.DENY, operation=Operation.ALL)) == [ErrorCode.NONE]
        assert error_of(alice, "t") == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("principal", ["", "alice", "User", " ", "\0"])
def test_a_principal_without_a_colon_is_refused(admin: Client, principal: str) -> None:
    assert create(admin, acl_creation(principal=principal)) == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("log_format", LogFormat)
def test_a_name_cannot_forge_a_line_of_the_audit_log(log_format: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    access = Access(Authorizer(), EventLog("INFO", log_format=log_format))
    access.become_ready()
    names = (FORGED, *ODD)
    for name in names:
        connection = SimpleNamespace(principal=Principal("User", name), peer_address=("10.0.0.1", 1))
        assert not access.may(Caller(cast(Connection, connection), 12, 1, name, api="Metadata"), READ_TOPIC, name)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(names)
    for line, name in zip(lines, names, strict=True):
        if log_format is LogFormat.JSON:
            read = json.loads(line)
        else:
            assert line.isprintable()
            read = {key: ast.literal_eval(value) if value[0] == '"' else value for key, value in KEY.findall(line)}
        assert "access denied" in line
        assert set(read) >= {"principal", "operation", "host", "resource", "request", "resource_ref_count", "rule"}
        assert (read["principal"], read["resource"]) == (f"User:{name}", f"Topic:LITERAL:{name}")
