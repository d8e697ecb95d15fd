"""The commands against Apache Kafka with TLS and passwords, configured with a file that Java's own
clients take.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.cli.cluster.admin_request import ask
from barnabas.cli.errors import Refused
from barnabas.wire.messages.list_groups import ListGroupsRequest
from peers.apache_kafka import apache_kafka, why_missing
from tests.cli.running import Cli
from tests.waiting import until

_MISSING = why_missing() or (None if shutil.which("openssl") else "openssl is not installed")
pytestmark = [pytest.mark.java, pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))]

_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_BEARER_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Secured(NamedTuple):
    bootstrap: str
    certificate: Path


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("tls")
    key, certificate, both = directory / "key.pem", directory / "certificate.pem", directory / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=kafka", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    extra = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": (
            f'{_LOGIN_MODULE} required username="admin" password="a" user_admin="a" user_ann="secret word";'
        ),
        "listener.name.plaintext.scram-sha-256.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
        "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
        # Without further settings Kafka takes tokens that no provider has signed.
        "listener.name.plaintext.oauthbearer.sasl.jaas.config": f'{_BEARER_MODULE} required unsecuredLoginStringClaim_sub="admin";',
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificate),
    }
    with apache_kafka(extra=extra) as (bootstrap, _):
        yield Secured(bootstrap, certificate)


def java_properties(path: Path, secured: Secured, password: str) -> Path:
    path.write_text(
        f"bootstrap.servers={secured.bootstrap}\n"
        "security.protocol=SASL_SSL\n"
        "sasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={_LOGIN_MODULE} required username="ann" password="{password}";\n'
        "ssl.truststore.type=PEM\n"
        f"ssl.truststore.location={secured.certificate}\n"
        "default.api.timeout.ms=60000\n"
    )
    return path


def test_a_profile_made_of_javas_properties_logs_in(secured: Secured, tmp_path: Path) -> None:
    cli = Cli()
    file = java_properties(tmp_path / "client.properties", secured, "secret word")
    cli("profile", "add", "secured", "--config-file", file, "--use").worked()
    created = cli("topics", "create", "orders")
    assert (created.code, created.out) == (0, b"Created topic orders.\n")
    assert created.err == "barnabas: default.api.timeout.ms has no effect here, because librdkafka has no equivalent.\n"
    until(lambda: [each["name"] for each in _listed(cli)] == ["orders"], "the topic is listed")


@pytest.mark.parametrize("words", [("groups", "list"), ("brokers", "list"), ("quorum", "describe"), ("transactions", "list")], ids=" ".join)
def test_requests_of_our_own_log_in_too(words: tuple[str, ...], secured: Secured, tmp_path: Path) -> None:
    file = java_properties(tmp_path / "client.properties", secured, "secret word")
    assert Cli()(*words, "--json", "--config-file", file).code == 0


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_proves_the_password(mechanism: str, secured: Secured, tmp_path: Path) -> None:
    admin = AdminClient({**_librdkafka(secured), "log_level": 0})
    info = ScramCredentialInfo(getattr(ScramMechanism, mechanism.replace("-", "_")), 8192)
    (future,) = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("bob", info, b"b,o=b")]).values()
    future.result()
    login = {**_librdkafka(secured), "sasl.mechanism": mechanism, "sasl.username": "bob", "sasl.password": "b,o=b"}
    words = [word for name, value in login.items() if name != "bootstrap.servers" for word in ("-X", f"{name}={value}")]
    cli = Cli(secured.bootstrap)
    until(lambda: cli("groups", "list", *words).code == 0, "the password of bob counts")
    with pytest.raises(Refused, match=r"refuses this client: .*[Aa]uthentication failed"):
        ask(secured.bootstrap, {**login, "sasl.password": "wrong"}, ListGroupsRequest(), seconds_max=30.0)


def test_a_token_in_a_file_logs_in(secured: Secured, tmp_path: Path) -> None:
    token = tmp_path / "token"
    file = tmp_path / "client.properties"
    file.write_text(
        f"bootstrap.servers={secured.bootstrap}\n"
        "security.protocol=SASL_SSL\n"
        "sasl.mechanism=OAUTHBEARER\n"
        f"sasl.jaas.config={_BEARER_MODULE} required;\n"
        "sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n"
        f"sasl.oauthbearer.token.endpoint.url={token.as_uri()}\n"
        f"ssl.truststore.location={secured.certificate}\n"
        "ssl.truststore.type=PEM\n"
    )
    token.write_text(_unsigned_token(ends_in_seconds=600))
    cli = Cli()
    cli("groups", "list", "--command-config", file).worked()
    cli("topics", "create", "of-a-token", "--command-config", file).worked()
    cli("produce", "of-a-token", "--command-config", file, stdin=b"one\n").worked()
    token.write_text(_unsigned_token(ends_in_seconds=-600))
    refused = cli("groups", "list", "--command-config", file).complaint
    assert re.fullmatch(rf"The token of {re.escape(str(token))} expired \d+ s ago\.", refused)
    token.write_text("not-a-web-token")
    refused = cli("groups", "list", "--command-config", file).complaint
    assert refused.startswith(f"{secured.bootstrap} refuses this client: ")


def _unsigned_token(*, ends_in_seconds: int) -> str:
    now = int(time.time())
    claims = {"sub": "ann", "iat": now - 1200, "exp": now + ends_in_seconds}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims))
    return ".".join(parts) + "."


def test_a_wrong_password_is_refused_at_once(secured: Secured, tmp_path: Path) -> None:
    file = java_properties(tmp_path / "client.properties", secured, "wrong")
    done = Cli()("topics", "list", "--config-file", file)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith(f"barnabas: {secured.bootstrap} refuses this client: Authentication failed")


def test_a_client_without_tls_gets_a_sentence_about_it(secured: Secured) -> None:
    sentence = "expects TLS, but this client does not use it: set security.protocol to ssl or sasl_ssl."
    assert Cli(secured.bootstrap)("topics", "list").complaint == f"{secured.bootstrap} {sentence}"


def _librdkafka(secured: Secured) -> dict[str, str]:
    return {
        "bootstrap.servers": secured.bootstrap,
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "secret word",
        "ssl.ca.location": str(secured.certificate),
    }


def _listed(cli: Cli) -> list[dict[str, object]]:
    done = cli("topics", "list", "--json")
    assert done.code == 0, done
    listed: list[dict[str, object]] = json.loads(done.out)
    return listed
