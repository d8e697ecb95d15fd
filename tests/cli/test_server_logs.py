"""The log of ``barnabas server`` as a process: text for people, JSON for machines, and the probes
of the same process."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from barnabas.devcluster.development import development_properties
from barnabas.node.process import ensure_formatted, parse_settings
from tests.waiting import PATIENCE_SECONDS

# In this order; others may come between.
LIFE = [
    "node starts",
    "logs opened",
    "node is a candidate for the metadata quorum",
    "node leads the metadata quorum",
    "node is the active controller",
    "broker registered",
    "broker unfenced",
    "node ready",
    "node stops",
    "node no longer leads the metadata quorum",
    "node stopped",
]
TEXT_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z (INFO |WARN |ERROR) \S.*")


@contextmanager
def server(directory: Path, stderr: int, *options: str) -> Iterator[dict[str, str]]:
    """Runs a node, and yields the words of its ready line. At the end the node has stopped."""
    more = {"barnabas.prometheus.listener": "127.0.0.1:0", "barnabas.health.listener": "127.0.0.1:0"}
    properties = development_properties(host="127.0.0.1", port=0, data_dir=str(directory), overrides=more)
    ensure_formatted(parse_settings(properties))
    overrides = [word for name, value in properties.items() for word in ("--override", f"{name}={value}")]
    words = [sys.executable, "-m", "barnabas", "server", "--no-environment", *options, *overrides]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("ready "), ready
        yield dict(word.split("=", 1) for word in ready.split()[1:])
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


def in_order(found: list[str], wanted: list[str]) -> bool:
    rest = iter(found)
    return all(each in rest for each in wanted)


def test_a_file_gets_json_with_the_events_of_a_nodes_life(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log, server(tmp_path / "data", log.fileno()):
        pass
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert in_order([each["event"] for each in events], LIFE)
    start = events[0]
    assert start["roles"] == ["broker", "controller"]
    assert start["directories"] == [str(tmp_path / "data")]
    assert {"timestamp", "level", "node_id", "version", "cluster_id", "listeners"} <= start.keys()
    assert events[-1]["clean"] is True


def test_text_is_one_readable_line_for_each_event(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log, server(tmp_path / "data", log.fileno(), "--log-format", "text"):
        pass
    lines = (tmp_path / "log").read_text().splitlines()
    assert all(TEXT_LINE.fullmatch(line) for line in lines), lines
    assert len(lines) >= len(LIFE)


def test_a_terminal_gets_text_in_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    ours, theirs = pty.openpty()
    try:
        with server(tmp_path / "data", theirs):
            shown = os.read(ours, 65_536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "\x1b[1mnode starts\x1b[0m" in shown
    assert '{"' not in shown


def ask(port: str, path: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def test_a_running_node_is_healthy_and_ready_on_both_listeners(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log, server(tmp_path / "data", log.fileno()) as ready:
        for port in (ready["prometheus"], ready["health"]):
            assert ask(port, "/health")[1]["status"] == "alive"
            status, body = ask(port, "/ready")
            assert (status, body["reasons"], body["cluster_id"]) == (200, [], ready["cluster"])
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{ready['health']}/metrics", timeout=PATIENCE_SECONDS)
