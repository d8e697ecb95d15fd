"""``barnabas tokens`` beside a broker."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.scenarios.security.sasl import sasl_listeners

KEY = "the key of all nodes"
HOUR_MS = 3_600_000
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture
def secured() -> Iterator[EmbeddedBroker]:
    scram = {
        f"listener.name.sasl_plaintext.{each}.sasl.jaas.config": f"{SCRAM_MODULE} required;" for each in ("scram-sha-256", "scram-sha-512")
    }
    mechanisms = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}
    with EmbeddedBroker(config=sasl_listeners() | scram | mechanisms | {"delegation.token.secret.key": KEY}) as kafka:
        yield kafka


@pytest.fixture
def cli(secured: EmbeddedBroker) -> Cli:
    return Cli(secured.bootstrap)


@pytest.fixture
def login(tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "alice.properties"
    file.write_text("security.protocol=sasl_plaintext\nsasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=wonder\n")
    return "--config-file", str(file)


def test_a_token_is_created_listed_renewed_and_expired(cli: Cli, login: tuple[str, str]) -> None:
    assert cli("tokens", "list", *login).text == ""
    made = cli("tokens", "create", "--renewer", "User:bob", "--max-lifetime", "2h", "--json", *login).json
    token_id = made["token_id"]
    assert made["hmac"] == base64.b64encode(hmac.digest(KEY.encode(), token_id.encode(), "sha512")).decode()
    assert (made["owner"], made["requester"], made["renewers"]) == ("User:alice", "User:alice", ["User:bob"])
    assert made["max_ms"] - made["issue_ms"] == 2 * HOUR_MS

    (row,) = cli("tokens", "list", *login).rows
    assert (row[0], row[1], row[3]) == (token_id, "User:alice", "User:bob")
    (listed,) = cli("tokens", "list", "--json", *login).json
    assert listed == {name: value for name, value in made.items() if name != "hmac"}
    assert cli("tokens", "list", "--owner", "User:carol", "--json", *login).json == []

    assert cli("tokens", "renew", token_id, "--for", "30m", *login).text.startswith(f"The token {token_id} expires at 20")
    (renewed,) = cli("tokens", "list", "--json", *login).json
    assert renewed["expiry_ms"] < made["expiry_ms"]
    assert cli("tokens", "expire", token_id, "--in", "10m", *login).text.startswith(f"The token {token_id} expires at 20")
    assert cli("tokens", "expire", token_id, *login).text == f"Removed the token {token_id}.\n"
    assert cli("tokens", "expire", token_id, *login).complaint == f"There is no token {token_id}, or this user may not see it."


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_command_logs_in_with_a_token(cli: Cli, login: tuple[str, str], tmp_path: Path, mechanism: str) -> None:
    made = cli("tokens", "create", "--json", *login).json
    file = tmp_path / "token.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={SCRAM_MODULE} required "
        f'username="{made["token_id"]}" password="{made["hmac"]}" tokenauth="true";\n'
    )
    by_token = ("--command-config", str(file))
    assert cli("quotas", "list", "--json", *by_token).json == []
    complaint = cli("tokens", "list", *by_token).complaint
    assert complaint == "Cannot list the tokens: this needs a login with SASL or a client certificate, and not with a token."
    refused = cli("produce", "t", *by_token, stdin=b"x\n").complaint
    assert refused == "librdkafka cannot log in with a delegation token (tokenauth), so this needs another login."


def test_a_created_token_fits_a_narrow_terminal_except_for_its_hmac(cli: Cli, login: tuple[str, str]) -> None:
    lines = cli("tokens", "create", *login).text.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Token id", "HMAC", "Owner", "Renewers", "Expires", "Renewable until"]
    assert all(len(line) <= 80 for line in lines if not line.startswith("HMAC"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--owner", "alice"), "--owner takes User:NAME, but was given 'alice'."),
        (("--renewer", ""), "--renewer takes User:NAME, but was given ''."),
        (("--renewer", "Group:staff"), "Cannot create a token: renewers must be of the type User."),
        (("--max-lifetime", "soon"), "--max-lifetime takes a length of time such as 30m, 12h or 1d12h, but was given 'soon'."),
    ],
    ids=str,
)
def test_mistakes_are_sentences(cli: Cli, login: tuple[str, str], arguments: tuple[str, str], sentence: str) -> None:
    assert cli("tokens", "create", *arguments, *login).complaint == sentence


def test_a_plaintext_listener_gives_no_tokens(kafka: EmbeddedBroker) -> None:
    complaint = Cli(kafka.bootstrap)("tokens", "list").complaint
    assert complaint == "Cannot list the tokens: this needs a login with SASL or a client certificate, and not with a token."


def test_tokens_need_a_secret_key(tmp_path: Path, login: tuple[str, str]) -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka:
        complaint = Cli(kafka.bootstrap)("tokens", "create", *login).complaint
    assert complaint == "Cannot create a token: the brokers have no delegation.token.secret.key."
