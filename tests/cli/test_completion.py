"""The names that a shell proposes, asked for as the scripts of bash, zsh and fish ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until


def proposed(line: str, *, bootstrap: str | None, shell: str = "bash") -> list[str]:
    """The proposals for the last word of ``line``."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_BARNABAS_COMPLETE": f"complete_{shell}",
        **({"BARNABAS_BOOTSTRAP": bootstrap} if bootstrap else {}),
        **({"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)} if shell == "bash" else {"_TYPER_COMPLETE_ARGS": line}),
        **({"_TYPER_COMPLETE_FISH_ACTION": "get-args"} if shell == "fish" else {}),
    }
    done = subprocess.run([sys.executable, "-m", "barnabas"], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == "", done
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@pytest.fixture
def cluster(kafka: EmbeddedBroker, cli: Cli) -> str:
    for topic in ("orders", "orders-late", "payments"):
        cli("topics", "create", topic).worked()
    cli("produce", "orders", stdin=b"one\n").worked()
    cli("groups", "reset-offsets", "billing", "--topic", "orders", "--to-earliest", "--execute").worked()
    return kafka.bootstrap


def comes(line: str, expected: list[str], *, bootstrap: str | None, shell: str = "bash") -> None:
    """Completion proposes nothing when the cluster does not answer within a second."""
    until(lambda: proposed(line, bootstrap=bootstrap, shell=shell) == expected, f"{expected} are proposed")


def test_names_of_topics_and_groups_come_from_the_cluster(cluster: str) -> None:
    comes("barnabas topics describe ord", ["orders", "orders-late"], bootstrap=cluster)
    comes("barnabas topics delete payments or", ["orders", "orders-late"], bootstrap=cluster)
    comes("barnabas consume pay", ["payments"], bootstrap=cluster)
    comes("barnabas configs alter --topic pay", ["payments"], bootstrap=cluster)
    comes("barnabas groups describe b", ["billing"], bootstrap=cluster)
    comes("barnabas acls add --topic pay", ["payments"], bootstrap=cluster)
    comes("barnabas acls list --group b", ["billing"], bootstrap=cluster)
    comes(f"barnabas topics describe --bootstrap {cluster} pay", ["payments"], bootstrap=None)


@pytest.mark.parametrize(("shell", "expected"), [("zsh", "_arguments '*: :((\"payments\"))'"), ("fish", "payments")])
def test_the_other_shells_get_the_same_names(shell: str, expected: str, cluster: str) -> None:
    comes("barnabas topics describe pay", [expected], bootstrap=cluster, shell=shell)


def test_names_of_settings_and_commands_need_no_cluster() -> None:
    assert proposed("barnabas configs alter --topic t --set retention.m", bootstrap="127.0.0.1:1") == ["retention.ms="]
    assert proposed("barnabas topics create t --config cleanup", bootstrap=None) == ["cleanup.policy="]
    assert proposed("barnabas configs alter --broker 1 --delete log.cleaner.th", bootstrap=None) == ["log.cleaner.threads"]
    assert proposed("barnabas acls add --operation describe", bootstrap=None) == ["describe", "describe-configs", "describe-tokens"]
    assert proposed("barnabas acls check User:a read to", bootstrap=None) == ["topic"]
    assert proposed("barnabas quotas set --user a prod", bootstrap=None) == ["producer_byte_rate="]
    assert proposed("barnabas tr", bootstrap=None) == ["transactions"]
    assert proposed("barnabas topics el", bootstrap=None) == ["elect-leaders"]


def test_names_of_profiles_come_from_their_file(cli: Cli) -> None:
    cli("profile", "add", "production", "-b", "a:1").worked()
    assert proposed("barnabas topics list --profile pro", bootstrap=None) == ["production"]
    assert proposed("barnabas profile use pro", bootstrap=None) == ["production"]


def test_without_a_cluster_there_is_silence_and_no_wait() -> None:
    assert proposed("barnabas topics describe x", bootstrap="127.0.0.1:1") == []
    assert proposed("barnabas topics describe x", bootstrap="not an address") == []
    began = time.monotonic()
    # An address that no packet reaches: the limit of the completion ends the wait.
    assert proposed("barnabas topics describe x", bootstrap="192.0.2.1:9092") == []
    assert time.monotonic() - began < PATIENCE_SECONDS


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_installed_script_completes_in_bash(cluster: str, tmp_path: Path) -> None:
    """``--install-completion`` writes a script, and bash calls it for a word."""
    binaries = Path(sys.executable).parent
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "BARNABAS_BOOTSTRAP": cluster,
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    command = [sys.executable, "-m", "barnabas", "--install-completion", "bash"]
    installed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "completion installed" in installed.stdout, installed
    (script,) = [each for each in tmp_path.rglob("*") if each.is_file() and "barnabas" in each.name]
    program = (
        f"source {script}; COMP_WORDS=(barnabas topics describe pay); COMP_CWORD=3;"
        "$(complete -p barnabas | sed 's/.*-F \\([^ ]*\\).*/\\1/') barnabas pay describe; echo \"${COMPREPLY[@]}\""
    )
    completed = subprocess.run(["bash", "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert completed.stdout == "payments\n", completed
