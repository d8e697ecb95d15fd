"""The systemd unit and the files that belong to it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from barnabas.cli.main import build_app
from barnabas.config.parse import parse_broker_config
from barnabas.config.properties import read_properties
from barnabas.node.process import STOP_SECONDS_MAX
from barnabas.supervisor.supervision import STOP_MS_MAX

SYSTEMD = Path(__file__).parents[3] / "deploy" / "systemd"
UNIT = (SYSTEMD / "barnabas.service").read_text()
PROGRAM = "/opt/barnabas/bin/barnabas"


def option(name: str) -> str:
    (found,) = re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("name", ["ExecStartPre", "ExecStart"])
def test_the_unit_calls_commands_and_options_that_exist(name: str) -> None:
    program, *words = shlex.split(option(name))
    assert program == PROGRAM
    command = get_command(build_app(words[0]))
    while words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
    known = {each for parameter in command.params for each in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_unit_gives_a_controlled_shutdown_its_time() -> None:
    assert float(option("TimeoutStopSec")) > STOP_SECONDS_MAX


def test_the_unit_says_how_much_time_several_processes_need() -> None:
    assert f"needs {STOP_MS_MAX // 1000} s for each of them" in UNIT
    server = get_command(build_app("server")).commands["server"]  # type: ignore[attr-defined]
    assert [each.envvar for each in server.params if "--processes" in each.opts] == ["BARNABAS_PROCESSES"]
    assert "BARNABAS_PROCESSES=auto" in UNIT


def test_the_settings_keep_their_data_in_the_state_directory() -> None:
    settings = parse_broker_config(read_properties((SYSTEMD / "server.properties").read_text()))
    assert settings.strings("log.dirs") == (f"/var/lib/{option('StateDirectory')}",)


def test_the_unit_may_lower_the_priority_of_the_log_cleaner() -> None:
    assert not re.search(r"^SystemCallFilter=~.*@resources", UNIT, re.MULTILINE)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    # The program need not be installed here, but systemd wants it to exist.
    (tmp_path / "barnabas.service").write_text(UNIT.replace(PROGRAM, "/bin/true"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "barnabas.service")], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
