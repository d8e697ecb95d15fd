"""``--secure`` of the commands after ``up --secure`` in the same directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.cluster.options import SECURE_CLIENT_FILE
from barnabas.cli.up import DEFAULT_DATA_DIR
from barnabas.devcluster.secure import CLIENT_FILE
from tests.cli.running import Cli
from tests.cli.up_cluster import UpCluster


def test_commands_look_where_up_leaves_its_file() -> None:
    assert SECURE_CLIENT_FILE == DEFAULT_DATA_DIR / "secure" / CLIENT_FILE


def test_commands_need_no_other_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli = Cli()
    with UpCluster(tmp_path / DEFAULT_DATA_DIR, brokers=1, options=["--secure"]):
        cli("topics", "create", "orders", "--secure").worked()
        cli("produce", "orders", "--secure", stdin=b"one\n").worked()
        assert cli("consume", "orders", "--from-beginning", "--until-end", "--secure").text == "one\n"
        assert cli("acls", "add", "--allow", "User:bob", "--operation", "read", "--topic", "orders", "--secure").code == 0
        assert cli("acls", "check", "User:bob", "read", "topic", "orders", "--secure").text.startswith("User:bob may read topic orders")
        super_user = cli("acls", "check", "User:admin", "alter", "cluster", "--secure").text
        assert super_user == "User:admin may alter the cluster: it is a super user.\n"
