"""The page about processes states the rules and the limits in force."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.supervisor.process_settings import derive
from barnabas.supervisor.restarts import BACKOFF_MS_MAX, BACKOFF_MS_MIN, STABLE_MS
from barnabas.supervisor.supervision import STOP_MS_MAX

PAGE = (Path(__file__).parents[3] / "docs" / "processes.md").read_text()
EXAMPLES = re.findall(r"^\| `(PLAINTEXT://\S+)` \| ([\d, and]+) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("listeners", "ports"), EXAMPLES, ids=[listeners for listeners, _ in EXAMPLES])
def test_the_ports_in_the_table_are_those_of_the_rule(listeners: str, ports: str) -> None:
    is_controller = "CONTROLLER" in listeners
    given = {
        "process.roles": "broker,controller" if is_controller else "broker",
        "node.id": "1",
        "listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@box:9093" if is_controller else "9@box:9093",
    }
    derived = [
        parse_broker_config(given | each.overrides).strings("listeners") for each in derive(parse_broker_config(given), 4, machine="m")
    ]
    for_clients = [[each.rpartition(":")[2] for each in entries if "CONTROLLER" not in each] for entries in derived]
    assert [" and ".join(each) for each in for_clients] == ports.split(", ")


def test_the_page_has_examples_and_the_limits_in_force() -> None:
    assert len(EXAMPLES) == 3
    assert f"is restarted after {BACKOFF_MS_MIN / 1000:g} s." in PAGE
    assert f"up to {BACKOFF_MS_MAX // 1000} s, and is short again once the process has served for a minute" in PAGE
    assert STABLE_MS == 60_000
    assert f"Each has {STOP_MS_MAX // 1000} s; then it is killed" in PAGE
