"""Nodes that are forks behave as processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas import __version__
from tests.cluster.forked_command import ForkedCommand
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nodes are forks on Linux only")

ONE_NODE = """
import sys
from tests.cluster.barnabas_cluster import barnabas_cluster
with barnabas_cluster(brokers=1) as cluster:
    print(cluster.node(1).process.pid, flush=True)
    sys.stdin.read()
"""


def test_a_forked_command_has_its_own_words_directory_output_and_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "server.properties").write_text("node.id=none\n")
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "output").open("wb") as output:
        asked = ForkedCommand(["--version"], output)
        assert asked.wait(PATIENCE_SECONDS) == 0
        refused = ForkedCommand(["server", "--config", "server.properties"], output)
        assert refused.wait(PATIENCE_SECONDS) == 1
    version, refusal = (tmp_path / "output").read_text().splitlines()
    assert version == __version__
    assert "node.id" in refusal
    assert (asked.poll(), refused.poll()) == (0, 1)


def test_no_node_outlives_a_test_run_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ONE_NODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        node = Path("/proc", run.stdout.readline().strip())
        assert node.exists()
        run.kill()
    until(lambda: not node.exists(), "the node ends")
