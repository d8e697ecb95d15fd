"""The console as its users start it: `barnabas console`, and `barnabas up --console`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.console.console_thread import ConsoleClient
from tests.waiting import until

CONSOLE = [sys.executable, "-m", "barnabas", "console"]
UP = [sys.executable, "-m", "barnabas", "up", "--ephemeral"]


def _ready(process: subprocess.Popen[str], name: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(f"ready {name}="):
            return line.strip().removeprefix(f"ready {name}=")
    raise AssertionError(f"{name} did not start")


def test_the_command_prints_its_address_and_stops_with_a_signal(broker: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "console.yaml"
    file.write_text(f"listen: 127.0.0.1:0\nread_only: true\nclusters: {{test: {{bootstrap: '{broker.bootstrap}', colour: green}}}}\n")
    with subprocess.Popen([*CONSOLE, "--config", str(file)], stdout=subprocess.PIPE, text=True) as process:
        url = _ready(process, "console")
        clusters = httpx.get(f"{url}/api/clusters", timeout=60).json()["clusters"]
        assert [(each["name"], each["colour"], each["read_only"], each["health"]) for each in clusters] == [("test", "green", True, "good")]
        process.terminate()
        assert process.wait(60) == 0


def test_a_console_that_may_not_start_says_why() -> None:
    refused = Cli()("console", "--cluster", "a=127.0.0.1:9092", "--listen", "0.0.0.0:0")
    assert (refused.code, "has no login" in refused.complaint) == (1, True)
    assert "takes NAME=HOST:PORT" in Cli()("console", "--cluster", "a").complaint
    assert "one of none, users" in Cli()("console", "--cluster", "a=k:1", "--login", "maybe").complaint
    assert "cannot be read" in Cli()("console", "--config", "/nowhere.yaml").complaint


def test_up_starts_a_console_and_a_registry_that_know_each_other() -> None:
    command = [*UP, "--console", "--registry"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        lines: dict[str, str] = {}
        assert process.stdout is not None
        while len(lines) < 3:
            name, _, value = process.stdout.readline().strip().removeprefix("ready ").partition("=")
            lines[name] = value
        client = ConsoleClient(lines["console"])
        schema = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}'
        httpx.post(f"{lines['registry']}/subjects/t-value/versions", json={"schema": schema}, timeout=60).raise_for_status()
        client.post("/clusters/kafka/topics", name="t")
        sent = client.post("/clusters/kafka/topics/t/records", value='{"n": 5}', value_format="schema")
        assert client.get(sent["location"])["record"]["value"]["format"] == "schema"
        client.http.close()
        process.kill()
        process.communicate()
        until(lambda: _is_gone(lines["console"]), "the console ends with the cluster")
    finally:
        process.kill()
        process.communicate()


def test_up_secure_starts_a_console_with_a_login() -> None:
    command = [*UP, "--secure", "--show-password", "--json", "--console"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        import json

        assert process.stdout is not None
        password = json.loads(process.stdout.readline())["password"]
        client = ConsoleClient(_ready(process, "console"))
        assert client.http.get("/api/clusters").status_code == 401
        assert client.log_in("kafka", "admin", password).status_code == 200
        assert client.get("/clusters/kafka")["health"] == "good"
        client.http.close()
    finally:
        process.kill()
        process.communicate()


def test_the_console_shows_its_first_page_after_little_processor_time(broker: EmbeddedBroker) -> None:
    """A person waits for the first page; the processor time does not depend on a busy machine."""
    with subprocess.Popen(
        [*CONSOLE, "--cluster", f"a={broker.bootstrap}", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    ) as process:
        url = _ready(process, "console")
        httpx.get(f"{url}/clusters", timeout=60).raise_for_status()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        seconds = (int(fields[11]) + int(fields[12])) / 100
        process.terminate()
    # Half a second to start, and a quarter for the first page, on the machine of the benchmarks.
    assert seconds < 2.5


def _is_gone(url: str) -> bool:
    try:
        httpx.get(f"{url}/health", timeout=60)
    except httpx.TransportError:
        return True
    return False
