"""``barnabas up --secure``: everything encrypted and authenticated with one word."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.config.properties import read_properties
from peers.apache_kafka import run_tool, why_missing
from tests.cli.running import Cli
from tests.cli.up_cluster import UpCluster
from tests.waiting import PATIENCE_SECONDS


def client_file(data_dir: Path) -> Path:
    return data_dir / "secure" / "client.properties"


def librdkafka(data_dir: Path) -> dict[str, Any]:
    return read_properties((data_dir / "secure" / "librdkafka.properties").read_text())


def password_of_admin(data_dir: Path) -> str:
    return str(librdkafka(data_dir)["sasl.password"])


def further_lines(cluster: UpCluster) -> str:
    """What a secured cluster prints after its ready line."""
    assert cluster.process.stdout is not None
    lines = [cluster.process.stdout.readline().decode() for _ in range(6)]
    assert lines[-1].startswith("Save it as a profile"), lines
    return "".join(lines)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a secured broker that was used and stopped."""
    directory = tmp_path_factory.mktemp("one")
    with UpCluster(directory, brokers=1, options=["--secure"]) as cluster:
        printed = further_lines(cluster)
        Cli()("topics", "create", "kept", "--config-file", client_file(directory)).worked()
        assert AdminClient(librdkafka(directory)).list_topics(timeout=PATIENCE_SECONDS).topics.keys() >= {"kept"}
        out, err = cluster.stop()
    assert str(client_file(directory)) in printed
    assert password_of_admin(directory) not in printed + out.decode() + err.decode()
    return directory


def test_the_next_start_reuses_the_files(one: Path) -> None:
    before = {each.name: each.read_bytes() for each in (one / "secure").glob("*.pem")}
    with UpCluster(one, brokers=1, options=["--secure"]):
        assert [row[0] for row in Cli()("topics", "list", "--config-file", client_file(one)).rows] == ["kept"]
    assert {each.name: each.read_bytes() for each in (one / "secure").glob("*.pem")} == before


def test_files_with_secrets_can_be_read_by_their_owner_only(one: Path) -> None:
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (one / "secure").iterdir()}
    assert modes.pop("ca.pem") == 0o644
    assert len(modes) >= 6
    assert set(modes.values()) == {0o600}


def test_a_wrong_password_and_plaintext_are_refused(one: Path) -> None:
    with UpCluster(one, brokers=1, options=["--secure"]) as cluster:
        for settings in ({**librdkafka(one), "sasl.password": "guess"}, {"bootstrap.servers": cluster.bootstrap}):
            with pytest.raises(KafkaException):
                AdminClient({**settings, "log_level": 0}).list_topics(timeout=2)


def test_acls_are_on_and_a_new_user_may_do_nothing(one: Path) -> None:
    with UpCluster(one, brokers=1, options=["--secure"]):
        admin = AdminClient(librdkafka(one))
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        (added,) = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("bob", info, b"bobs")]).values()
        added.result(PATIENCE_SECONDS)
        bob = AdminClient({**librdkafka(one), "sasl.username": "bob", "sasl.password": "bobs"})
        assert bob.list_topics(timeout=PATIENCE_SECONDS).topics == {}
        (created,) = bob.create_topics([NewTopic("of-bob", 1)]).values()
        with pytest.raises(KafkaException, match="AUTHORIZATION_FAILED"):
            created.result(PATIENCE_SECONDS)


@pytest.mark.skipif(why_missing() is not None, reason="needs Apache Kafka")
def test_kafkas_own_tools_take_the_client_file(one: Path) -> None:
    with UpCluster(one, brokers=1, options=["--secure"]) as cluster:
        listed = run_tool(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", cluster.bootstrap, "--command-config", str(client_file(one)), "--list"),
        )
    assert "kept" in listed.split()


def test_three_brokers_replicate_and_a_killed_one_comes_back(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=3, options=["--secure"]) as cluster:
        file = client_file(tmp_path)
        Cli()("topics", "create", "t", "--replication-factor", 3, "--config-file", file).worked()
        Cli()("produce", "t", "--config-file", file, stdin=b"before\n").worked()
        cluster.kill(3)
        Cli()("produce", "t", "--config-file", file, stdin=b"without\n").worked()
        cluster.start(3)
        read = Cli()("consume", "t", "--from-beginning", "--until-end", "--config-file", file).text
        assert sorted(read.split()) == ["before", "without"]
        assert stat.S_IMODE((tmp_path / "node-1.properties").stat().st_mode) == 0o600


def test_an_ephemeral_cluster_names_its_files_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    words = [sys.executable, "-m", "barnabas", "up", "--ephemeral", "--json", "--secure"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    line = json.loads(process.stdout.readline())
    assert sorted(line) == [
        *("bootstrap", "ca", "client_properties", "cluster", "librdkafka_properties", "pids", "security_protocol", "user"),
    ]
    Cli()("topics", "list", "--config-file", line["client_properties"]).worked()
    process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, list(tmp_path.iterdir())) == (0, [])


def test_the_password_is_printed_when_asked_for(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=1, options=["--secure", "--show-password"]) as cluster:
        assert password_of_admin(tmp_path) in further_lines(cluster)
    assert "belongs to --secure" in Cli()("up", "--show-password").complaint


def test_damaged_files_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "secure").mkdir()
    for name in ("ca.pem", "ca-key.pem"):
        (tmp_path / "secure" / name).write_text("nothing")
    assert "Remove it" in Cli()("up", "--secure", "--port", 0, "--data-dir", tmp_path).complaint
