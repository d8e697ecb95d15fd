"""Every command that has a cluster reaches a secured one with a file for Java's clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barnabas.devcluster.certificates import CertificateAuthority
from tests.cli.running import Cli, Finished
from tests.cli.security.secured import MARK, Secured
from tests.scenarios.security.certificates import NOW, Files

ORDERS = "orders"


@pytest.fixture
def with_file(secured: Secured) -> WithFile:
    return WithFile(secured.client_file)


class WithFile:
    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, *words: object, stdin: bytes = b"") -> Finished:
        return Cli()(*words, "--command-config", self._file, stdin=stdin).worked()


def test_topics_records_and_settings(with_file: WithFile) -> None:
    with_file("topics", "create", ORDERS, "--partitions", 2)
    with_file("topics", "alter", ORDERS, "--partitions", 3)
    assert [row["name"] for row in with_file("topics", "list", "--json").json] == [ORDERS]
    with_file("produce", ORDERS, stdin=b"one\ntwo\n")
    read = with_file("consume", ORDERS, "--from-beginning", "--until-end").text.splitlines()
    assert sorted(read) == ["one", "two"]
    (described,) = with_file("topics", "describe", ORDERS, "--json").json
    assert len(described["partitions"]) == 3
    with_file("configs", "alter", "--topic", ORDERS, "--set", "retention.ms=1000")
    assert "retention.ms" in with_file("configs", "describe", "--topic", ORDERS).text
    with_file("configs", "describe", "--broker", 1)
    with_file("configs", "describe", "--broker-defaults")
    with_file("topics", "elect-leaders", "--all")


def test_groups_and_transactions(with_file: WithFile) -> None:
    with_file("topics", "create", "read")
    with_file("groups", "reset-offsets", "readers", "--topic", "read", "--to-earliest", "--execute")
    assert [row["group"] for row in with_file("groups", "list", "--json").json] == ["readers"]
    with_file("groups", "describe", "readers")
    with_file("groups", "delete-offsets", "readers", "--topic", "read")
    with_file("groups", "delete", "readers")
    with_file("transactions", "list")
    with_file("transactions", "find-hanging")
    with_file("transactions", "describe-producers", "--topic", "read", "--partition", 0)


def test_the_cluster_itself(with_file: WithFile, tmp_path: Path) -> None:
    with_file("topics", "create", "moved")
    assert [row["broker"] for row in with_file("brokers", "list", "--json").json] == [1]
    with_file("quorum", "describe", "--status", "--replication")
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "moved"}]}))
    with_file("reassign", "generate", "--topics-file", topics, "--brokers", "1")
    with_file("reassign", "list")
    assert "cluster" in with_file("doctor").text


def test_perf(with_file: WithFile) -> None:
    with_file("topics", "create", "measured")
    with_file("perf", "produce", "measured", "--records", 100)
    with_file("perf", "consume", "measured")
    with_file("perf", "latency", "measured", "--records", 5)


def test_sql_on_the_embedded_engine(with_file: WithFile) -> None:
    pytest.importorskip("duckdb")
    with_file("topics", "create", "payments")
    with_file("produce", "payments", stdin=b'{"amount": 3}\n{"amount": 4}\n')
    assert with_file("sql", "SELECT sum(amount) AS total FROM payments", "--engine", "embedded", "--json").json == {"total": 7}


def test_secure_stands_for_the_file_that_up_leaves(secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    missing = Cli()("topics", "list", "--secure").complaint
    assert missing.startswith("--secure reads .barnabas/data/secure/client.properties, and there is no such file: start a cluster here")
    left = tmp_path / ".barnabas" / "data" / "secure" / "client.properties"
    left.parent.mkdir(parents=True)
    left.write_text(secured.client_file.read_text())
    assert [row["broker"] for row in Cli()("brokers", "list", "--json", "--secure").json] == [1]
    assert secured.bootstrap in Cli()("doctor", "--secure").text
    both = Cli()("topics", "list", "--secure", "--config-file", left).complaint
    assert both == "--secure names a file of properties itself, so --config-file cannot be given with it."


def test_a_wrong_password_is_refused_without_repeating_it(scram: Secured, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(scram.client_file.read_text().replace(MARK, "mistaken"))
    for words in (("topics", "list"), ("groups", "list"), ("produce", "t")):
        complaint = Cli()(*words, "--command-config", file).complaint
        assert "refuses this client" in complaint
        assert "mistaken" not in complaint


def test_a_client_without_a_certificate_is_refused(secured: Secured, tmp_path: Path) -> None:
    lines = secured.client_file.read_text().splitlines()
    file = tmp_path / "client.properties"
    file.write_text("\n".join(line for line in lines if not line.startswith(("ssl.keystore", "sasl"))).replace("SASL_SSL", "SSL"))
    complaint = Cli()("topics", "list", "--command-config", file).complaint
    assert complaint in {
        f"{secured.bootstrap} refuses this client: tlsv13 certificate required.",
        f"{secured.bootstrap} closed the connection; it may expect a login, and security.protocol has none.",
    }


def test_a_broker_with_a_certificate_of_another_authority_is_not_trusted(secured: Secured, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    other = Files(tmp_path, CertificateAuthority.make("Another authority", now=NOW)).trusted
    file.write_text(secured.client_file.read_text().replace(str(secured.files.trusted), str(other)))
    complaint = Cli()("topics", "list", "--command-config", file).complaint
    assert complaint.startswith(f"The certificate of {secured.bootstrap} is refused: ")
