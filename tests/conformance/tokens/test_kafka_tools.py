"""Kafka's own tools with tokens and SCRAM users of Barnabas."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.metadata.snapshot import BOOTSTRAP_CHECKPOINT, decode_snapshot
from barnabas.security.sasl.add_scram import parse_add_scram
from barnabas.testing import EmbeddedBroker
from barnabas.wire.metadata_records import UserScramCredentialRecord
from peers.apache_kafka import CLUSTER_ID, server_properties, write_properties
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.tokens.logged_in import LoginRefused, with_scram
from tests.conformance.tokens.nodes import PASSWORDS, SASL, TOKENS

DELEGATION_TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
CONFIGS = "kafka.admin.ConfigCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
STORAGE = "kafka.tools.StorageTool"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
SALT = base64.b64encode(b"a salt of some bytes").decode()


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with EmbeddedBroker(config=SASL | TOKENS) as node:
        yield node.bootstrap


def login(directory: Path, module: str, mechanism: str, **options: str) -> tuple[str, str]:
    """``--command-config`` with a file."""
    said = " ".join(f'{name}="{value}"' for name, value in options.items())
    file = directory / f"{mechanism}-{options['username']}.properties"
    lines = ["security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={mechanism}", f"sasl.jaas.config={module} required {said};"]
    file.write_text("\n".join(lines))
    return "--command-config", str(file)


def with_password(directory: Path, user: str) -> tuple[str, str]:
    return login(directory, PLAIN, "PLAIN", username=user, password=PASSWORDS[user])


def rows(output: str) -> list[list[str]]:
    """The cells of the tool's table, from its line with the first token on."""
    return [line.split() for line in output.splitlines() if re.match(r"[\w-]{22}\s.*User:\w+", line)]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafka_delegation_tokens(tools: Tools, bootstrap: str, tmp_path: Path, mechanism: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    alice, bob = with_password(tmp_path, "alice"), with_password(tmp_path, "bob")
    made = tools.run(DELEGATION_TOKENS, *at, *alice, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
    ((token_id, hmac, owner, requester, renewer, *_),) = rows(made)
    assert (owner, requester, renewer.strip("[]")) == ("User:alice", "User:alice", "User:bob")

    by_token = login(tmp_path, SCRAM, mechanism, username=token_id, password=hmac, tokenauth="true")
    tools.run(TOPICS, *at, *by_token, "--create", "--topic", f"by-token-{mechanism}")
    assert f"by-token-{mechanism}" in tools.run(TOPICS, *at, *by_token, "--list").split()
    refused = tools.try_run(DELEGATION_TOKENS, *at, *by_token, "--describe")
    assert "DelegationTokenRequestNotAllowed" in refused.out + refused.err or "not allowed" in refused.out + refused.err

    described = tools.run(DELEGATION_TOKENS, *at, *bob, "--describe", "--owner-principal", "User:alice")
    assert [row[0] for row in rows(described)] == [token_id], described
    assert "Completed renew" in tools.run(DELEGATION_TOKENS, *at, *bob, "--renew", "--renew-time-period", "-1", "--hmac", hmac)
    assert "Completed expire" in tools.run(DELEGATION_TOKENS, *at, *alice, "--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    assert token_id not in tools.run(DELEGATION_TOKENS, *at, *alice, "--describe", "--owner-principal", "User:alice")


def test_kafka_configs_makes_a_user_that_logs_in(tools: Tools, bootstrap: str, tmp_path: Path) -> None:
    at, admin = ("--bootstrap-server", bootstrap), with_password(tmp_path, "admin")
    whom = ("--entity-type", "users", "--entity-name", "dora")
    tools.run(CONFIGS, *at, *admin, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=explorer]", *whom)
    dora = login(tmp_path, SCRAM, "SCRAM-SHA-256", username="dora", password="explorer")
    tools.run(TOPICS, *at, *dora, "--list")
    tools.run(CONFIGS, *at, *admin, "--alter", "--delete-config", "SCRAM-SHA-256", *whom)
    with pytest.raises(LoginRefused):
        with_scram(bootstrap, "dora", "explorer")


USERS = [
    f"SCRAM-SHA-256=[name=alice,salt={SALT},password=wonder]",
    f'SCRAM-SHA-512=[name=alice,iterations=8192,salt="{SALT}",password="wonder"]',
    f"SCRAM-SHA-256=[name=bob,salt={SALT},saltedpassword={base64.b64encode(bytes(32)).decode()}]",
]


def credentials(data: Path) -> list[UserScramCredentialRecord]:
    records, _ = decode_snapshot((data / BOOTSTRAP_CHECKPOINT).read_bytes())
    return [record for record in records if isinstance(record, UserScramCredentialRecord)]


def test_add_scram_writes_the_records_that_kafka_storage_writes(tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = [part for user in USERS for part in ("--add-scram", user)]
    for name in ("kafka", "barnabas"):
        write_properties(tmp_path / f"{name}.properties", server_properties(tmp_path / name, 9092, 9093))
    tools.run(STORAGE, "format", "-t", CLUSTER_ID, "-c", tmp_path / "kafka.properties", *added)
    monkeypatch.setattr(
        "sys.argv", ["barnabas", "storage", "format", "-t", CLUSTER_ID, "-c", str(tmp_path / "barnabas.properties"), *added]
    )
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0
    assert credentials(tmp_path / "barnabas") == credentials(tmp_path / "kafka")
    assert credentials(tmp_path / "barnabas") == [parse_add_scram(user).record(b"") for user in USERS]


@pytest.mark.parametrize(
    "user",
    [
        "SCRAM-SHA-256",
        "SCRAM-SHA-1=[name=a,password=b]",
        "SCRAM-SHA-256=name=a,password=b",
        "SCRAM-SHA-256=[password=b]",
        "SCRAM-SHA-256=[name=a]",
        "SCRAM-SHA-256=[name=a,password=b,c]",
        "SCRAM-SHA-256=[name=a,password=b,colour=red]",
        "SCRAM-SHA-256=[name=a,saltedpassword=eA==]",
        "SCRAM-SHA-256=[name=a,password=b,iterations=4095]",
        "SCRAM-SHA-256=[name=a,password=b,iterations=16385]",
        "SCRAM-SHA-256=[name=a,password=b,salt=???]",
    ],
)
def test_add_scram_refuses_what_kafka_storage_refuses(tools: Tools, tmp_path: Path, user: str) -> None:
    write_properties(tmp_path / "kafka.properties", server_properties(tmp_path / "kafka", 9092, 9093))
    refused = tools.try_run(STORAGE, "format", "-t", CLUSTER_ID, "-c", tmp_path / "kafka.properties", "--add-scram", user)
    assert refused.status != 0
    with pytest.raises(ValueError, match=r"\w"):
        parse_add_scram(user)
