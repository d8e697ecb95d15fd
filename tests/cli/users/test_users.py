"""``barnabas users`` beside a broker; librdkafka then logs in as those users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.scenarios.security.sasl import sasl_listeners
from tests.waiting import PATIENCE_SECONDS

PASSWORD = "a password, with commas"


@pytest.fixture
def secured() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=sasl_listeners() | {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}) as kafka:
        yield kafka


@pytest.fixture
def admin(secured: EmbeddedBroker, tmp_path: Path) -> Cli:
    """``barnabas``, logged in as admin."""
    return Cli(secured.bootstrap)


@pytest.fixture
def login(tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "admin.properties"
    file.write_text("security.protocol=sasl_plaintext\nsasl.mechanism=PLAIN\nsasl.username=admin\nsasl.password=admins\n")
    return "--config-file", str(file)


def logs_in(kafka: EmbeddedBroker, user: str, password: str, mechanism: str) -> None:
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
    AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0, **settings}).list_topics(timeout=PATIENCE_SECONDS)


def test_a_user_is_added_changed_and_removed(admin: Cli, secured: EmbeddedBroker, login: tuple[str, str], tmp_path: Path) -> None:
    assert admin("users", "list", *login).text == ""
    assert admin("users", "add", "alice", *login, stdin=f"{PASSWORD}\n".encode()).text == "Added the user alice.\n"
    assert admin("users", "list", *login).rows == [["alice", "SCRAM-SHA-256", "4096"], ["alice", "SCRAM-SHA-512", "4096"]]
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        logs_in(secured, "alice", PASSWORD, mechanism)

    file = tmp_path / "password"
    file.write_text("another one\nnot this line\n")
    changed = admin("users", "set-password", "alice", "--password-file", file, "--iterations", 8192, *login)
    assert changed.text == "Set the password of alice.\n"
    logs_in(secured, "alice", "another one", "SCRAM-SHA-512")
    assert admin("users", "list", "--json", *login).json == [
        {"user": "alice", "mechanism": mechanism, "iterations": 8192} for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    ]

    assert admin("users", "remove", "alice", "--mechanism", "scram-sha-256", *login).text == "Removed SCRAM-SHA-256 of the user alice.\n"
    assert admin("users", "list", *login).rows == [["alice", "SCRAM-SHA-512", "8192"]]
    assert admin("users", "remove", "alice", *login).text == "Removed the user alice.\n"
    assert admin("users", "list", "--json", *login).json == []


def test_mistakes_are_sentences(admin: Cli, login: tuple[str, str], tmp_path: Path) -> None:
    assert admin("users", "remove", "nobody", *login).complaint == "There is no user nobody."
    assert admin("users", "set-password", "nobody", *login, stdin=b"x\n").complaint == "There is no user nobody."
    assert admin("users", "add", "alice", *login, stdin=b"").complaint == "Standard input has no password in its first line."
    missing = tmp_path / "missing"
    refused = admin("users", "add", "alice", "--password-file", missing, *login)
    assert refused.complaint == f"{missing} cannot be read: No such file or directory."
    admin("users", "add", "alice", "--mechanism", "SCRAM-SHA-512", *login, stdin=b"x\n").worked()
    assert "The user alice exists already" in admin("users", "add", "alice", *login, stdin=b"x\n").complaint


def test_a_password_is_no_option(admin: Cli) -> None:
    assert "No such option: --password" in admin("users", "add", "alice", "--password", "x").err
