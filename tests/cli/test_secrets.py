"""Secrets of a node: in no log, no answer, no metric, no error and no dump.

Each secret is a word of its own, so that a failing test names the setting that leaks.
"""

from __future__ import annotations

import base64
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.keys import EffectKind
from barnabas.config.properties import write_properties
from barnabas.devcluster.development import development_properties
from barnabas.model.ids import parse_uuid
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from tests.cli.running import Cli
from tests.conformance.tokens.logged_in import LoggedIn, LoginRefused, with_password, with_scram, with_token
from tests.conformance.tokens.nodes import PASSWORDS, SASL
from tests.waiting import PATIENCE_SECONDS

BROKER, SET = 4, 0
CLUSTER_ID = "Some-cluster-id-------"
# These are read when a node starts, so they must make sense, or the node does not start.
_READ_AT_START = frozenset({"sasl.jaas.config"})
# Pairs, of which the second part is the secret, and the first part of each.
_PAIRS = {
    "barnabas.client.metrics.otlp.headers": "authorization=",
    "barnabas.schema.registry.basic.auth.user.info": "alice:",
    "confluent.basic.auth.user.info": "alice:",
    "barnabas.otlp.headers": "authorization=",
}
# Second names of settings, which must have the value of the first.
_FIRST_NAMES = {"confluent.basic.auth.user.info": "barnabas.schema.registry.basic.auth.user.info"}
SECRETS = {
    name: f"{_PAIRS.get(name, '')}SECRET-{_FIRST_NAMES.get(name, name)}"
    for name, key in BROKER_KEYS.items()
    if key.sensitive and name not in _READ_AT_START and key.effect.kind is not EffectKind.REFUSED
}
FETCHED, DYNAMIC, SCRAM_PASSWORD = "SECRET-fetched", "SECRET-dynamic", "SECRET-scram"


class Node(NamedTuple):
    bootstrap: str
    metrics: str
    process: subprocess.Popen[str]
    data: Path
    log: Path
    seen: list[str]  # every text that the node gave to clients

    @property
    def cli(self) -> Cli:
        return Cli(self.bootstrap)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    secret_file = tmp_path / "secrets.properties"
    secret_file.write_text(f"key={FETCHED}\n")
    more = {
        **SASL,
        **SECRETS,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "delegation.token.secret.key": f"${{file:{secret_file}:key}}",
        "remote.log.storage.config.secret_access_key": "SECRET-plugin",
        "barnabas.prometheus.listener": "127.0.0.1:0",
        "connection.failed.authentication.delay.ms": "0",
    }
    data = tmp_path / "data"
    properties = development_properties(host="127.0.0.1", port=0, data_dir=str(data), overrides=more)
    config = tmp_path / "server.properties"
    config.write_text(write_properties(properties))
    users = tmp_path / "users"
    users.write_text(f"# the first users\n\nSCRAM-SHA-256=[name=dora,password={SCRAM_PASSWORD}]\n")
    assert parse_uuid(CLUSTER_ID)
    formatted = Cli()("storage", "format", "-t", CLUSTER_ID, "-c", config, "--add-scram-file", users)
    log = tmp_path / "log"
    command = [sys.executable, "-m", "barnabas", "server", "--no-environment", "--log-level", "DEBUG", "--config", str(config)]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("ready "), log.read_text()
        words = dict(word.split("=", 1) for word in ready.split()[1:])
        yield Node(words["bootstrap"], f"http://127.0.0.1:{words['prometheus']}/metrics", process, data, log, [ready, formatted.text])
    finally:
        process.kill()
        process.communicate()


def test_secrets_are_in_no_output_of_a_node(node: Node, tmp_path: Path) -> None:
    admin = with_password(node.bootstrap, "admin", PASSWORDS["admin"])
    # Answers.
    token = admin.ask(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1), 3)
    hmac = base64.b64encode(bytes(token.hmac)).decode()
    node.seen.append(repr(token))
    for name in ("1", ""):
        resource = DescribeConfigsResource(resource_type=BROKER, resource_name=name, configuration_keys=None)
        node.seen.append(repr(admin.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=True), 4)))
    # Settings of a running node, some of which it refuses.
    for name, value in (
        ("listener.name.plaintext.ssl.keystore.password", DYNAMIC),
        ("ssl.keystore.password", DYNAMIC),
        ("delegation.token.secret.key", DYNAMIC),
        ("no.such.setting", DYNAMIC),
    ):
        for resource_name in ("1", ""):
            changes = [AlterableConfig(name=name, config_operation=SET, value=value)]
            changed = AlterConfigsResource(resource_type=BROKER, resource_name=resource_name, configs=changes)
            node.seen.append(repr(admin.ask(IncrementalAlterConfigsRequest(resources=[changed], validate_only=False), 1)))
            described = DescribeConfigsResource(resource_type=BROKER, resource_name=resource_name, configuration_keys=None)
            node.seen.append(repr(admin.ask(DescribeConfigsRequest(resources=[described], include_synonyms=True), 4)))
    # Logins, good and bad.
    with with_scram(node.bootstrap, "dora", SCRAM_PASSWORD):
        pass
    wrong: list[Callable[[], LoggedIn]] = [
        lambda: with_scram(node.bootstrap, "dora", "SECRET-wrong"),
        lambda: with_password(node.bootstrap, "alice", "SECRET-wrong"),
        lambda: with_token(node.bootstrap, token.token_id, b"SECRET-wrong"),
    ]
    for log_in in wrong:
        with pytest.raises(LoginRefused) as refused:
            log_in()
        node.seen.append(str(refused.value))
    admin.close()
    # Commands.
    login = tmp_path / "admin.properties"
    login.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=admin\nsasl.password=admins\n")
    options = ("--config-file", login)
    describe = ("configs", "describe", "--all")
    for words in ((*describe, "--broker", 1), (*describe, "--broker-defaults"), ("tokens", "list")):
        for form in ((), ("--json",)):
            node.seen.append(node.cli(*words, *form, *options).text)
    with urllib.request.urlopen(node.metrics) as page:
        node.seen.append(page.read().decode())
    node.process.send_signal(signal.SIGTERM)
    assert node.process.wait(PATIENCE_SECONDS) == 0
    # Files.
    for file in sorted(node.data.rglob("*.log")) + sorted(node.data.rglob("*.checkpoint")):
        node.seen.append(node.cli("log", "dump", file, "--json").text)
    assert "UserScramCredentialRecord" in "".join(node.seen)
    log = node.log.read_text()
    assert "authentication failed" in log
    everything = "\n".join([*node.seen, log])
    others = ("SECRET-plugin", FETCHED, DYNAMIC, SCRAM_PASSWORD, "SECRET-wrong", hmac)
    values = (f"SECRET-{name}" for name in SECRETS)
    assert [secret for secret in (*values, *PASSWORDS.values(), *others) if secret in everything] == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"listener.name.plaintext.plain.sasl.jaas.config": 'Module required password="SECRET'}, "quote that does not end"),
        ({"listener.name.plaintext.plain.sasl.jaas.config": "SECRET-x"}, "ends with a semicolon"),
        ({"listener.name.plaintext.plain.sasl.jaas.config": 'Module SECRET-x password="SECRET";'}, "begins with a class and one of"),
        ({"delegation.token.secret.key": "SECRET", "delegation.token.max.lifetime.ms": "0"}, "delegation.token.max.lifetime.ms"),
        ({"ssl.keystore.pasword": "SECRET"}, "did you mean ssl.keystore.password"),
        (
            {"ssl.keystore.password": "SECRET", "config.providers": "file"},
            "config.providers.file.class must be set",
        ),
    ],
    ids=str,
)
def test_a_node_that_does_not_start_tells_no_secret(tmp_path: Path, changes: dict[str, str], sentence: str) -> None:
    properties = development_properties(host="127.0.0.1", port=0, data_dir=str(tmp_path / "data"), overrides=SASL | changes)
    config = tmp_path / "server.properties"
    config.write_text(write_properties(properties))
    Cli()("storage", "format", "-t", CLUSTER_ID, "-c", config)
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "server", "--no-environment", "--config", str(config)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "SECRET" not in done.stdout + done.stderr


def test_users_in_a_file_are_named_by_their_line(tmp_path: Path) -> None:
    properties = development_properties(host="127.0.0.1", port=0, data_dir=str(tmp_path / "data"))
    config = tmp_path / "server.properties"
    config.write_text(write_properties(properties))
    users = tmp_path / "users"
    users.write_text("SCRAM-SHA-256=[name=dora,password=SECRET]\nSCRAM-SHA-256=[password=SECRET]\n")
    complaint = Cli()("storage", "format", "-t", CLUSTER_ID, "-c", config, "--add-scram-file", users).complaint
    assert complaint == f"line 2 of {users}: a user needs a name."
    assert not (tmp_path / "data").exists()
