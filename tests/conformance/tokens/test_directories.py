"""Tokens and SCRAM users in a directory that Apache Kafka and Barnabas use in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.env.entropy import SystemEntropy
from barnabas.env.real_disk import RealDisk
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId
from barnabas.node.format import format_directories
from barnabas.security.sasl.add_scram import parse_add_scram
from barnabas.security.sasl.scram_credentials import ScramMechanism
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from barnabas.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.metadata import MetadataRequest
from peers.apache_kafka import CLUSTER_ID, apache_kafka, free_port, run_tool, server_properties, write_properties
from tests.conformance.tokens.logged_in import LoginRefused, with_password, with_scram, with_token
from tests.conformance.tokens.nodes import PASSWORDS, SASL, TOKENS
from tests.waiting import until

SHA_512 = ScramMechanism.SHA_512
FIRST = "SCRAM-SHA-512=[name=first,password=in the checkpoint]"
SETTINGS = SASL | TOKENS | {"metadata.log.max.record.bytes.between.snapshots": "1000", "broker.session.timeout.ms": "6000"}


@contextmanager
def kafka(data: Path) -> Iterator[str]:
    with apache_kafka(data, extra=SETTINGS, format_storage=False) as (bootstrap, _):
        yield bootstrap


@contextmanager
def barnabas(data: Path) -> Iterator[str]:
    with EmbeddedBroker(data_dir=data, config=server_properties(data, free_port(), free_port(), SETTINGS)) as node:
        yield node.bootstrap


def format_by_kafka(data: Path) -> None:
    properties = data.parent / "format.properties"
    write_properties(properties, server_properties(data, free_port(), free_port(), SETTINGS))
    run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), "--add-scram", FIRST)


def format_by_barnabas(data: Path) -> None:
    users = [parse_add_scram(FIRST)]
    format_directories(RealDisk(), [str(data)], cluster_id=CLUSTER_ID, node_id=NodeId(1), entropy=SystemEntropy(), now_ms=0, users=users)


def make_user(bootstrap: str, name: str) -> None:
    salted = SHA_512.salted(f"password of {name}", b"salt", 4096)
    upsertion = ScramCredentialUpsertion(name=name, mechanism=SHA_512.number, iterations=4096, salt=b"salt", salted_password=salted)
    with with_password(bootstrap, "admin", PASSWORDS["admin"]) as admin:
        (result,) = admin.ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]), 0).results
    assert result.error_code == ErrorCode.NONE


def make_token(bootstrap: str, owner: str) -> Any:
    renewers = [CreatableRenewers(principal_type="User", principal_name="carol")]
    with with_password(bootstrap, owner, PASSWORDS[owner]) as client:
        token = client.ask(CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=-1), 3)
    assert token.error_code == ErrorCode.NONE
    return token


def tokens(bootstrap: str) -> dict[str, tuple[Any, ...]]:
    with with_password(bootstrap, "carol", PASSWORDS["carol"]) as client:
        found = client.ask(DescribeDelegationTokenRequest(owners=None), 3)
    return {
        each.token_id: (
            each.principal_name,
            each.token_requester_principal_name,
            each.issue_timestamp,
            each.expiry_timestamp,
            each.max_timestamp,
            bytes(each.hmac),
        )
        for each in found.tokens
    }


def works(connect: Callable[[], Any]) -> None:
    """Kafka opens its port before it has read its metadata."""
    session = until(connect, "the login works", retry_on=LoginRefused)
    with session:
        assert session.ask(MetadataRequest(topics=[]), 12).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("format_", "programs"),
    [(format_by_kafka, [kafka, barnabas, kafka]), (format_by_barnabas, [barnabas, kafka, barnabas])],
    ids=["Kafka first", "Barnabas first"],
)
def test_logins_work_in_both_programs(
    tmp_path: Path, format_: Callable[[Path], None], programs: list[Callable[[Path], AbstractContextManager[str]]]
) -> None:
    data = tmp_path / "data"
    format_(data)
    users = {"first": "in the checkpoint"}
    made: dict[str, tuple[Any, ...]] = {}
    for number, program in enumerate(programs):
        with program(data) as bootstrap:
            for name, password in users.items():
                works(partial(with_scram, bootstrap, name, password, SHA_512))
            assert until(lambda: tokens(bootstrap) == made, "the same tokens are described", seen=lambda: tokens(bootstrap))
            for token_id, (*_, hmac) in made.items():
                for mechanism in ScramMechanism:
                    works(partial(with_token, bootstrap, token_id, hmac, mechanism))
            make_user(bootstrap, f"user{number}")
            users[f"user{number}"] = f"password of user{number}"
            token = make_token(bootstrap, "alice")
            made[token.token_id] = (
                "alice",
                "alice",
                token.issue_timestamp_ms,
                token.expiry_timestamp_ms,
                token.max_timestamp_ms,
                bytes(token.hmac),
            )
