"""Apache Kafka 4.3 beside us: its tools, its classes as oracles, and a real broker.

Everything needs Java and the jars that ``make kafka-jars`` fetches. :func:`why_missing` names the
missing part in a sentence, and tests skip with it.
"""

from __future__ import annotations

import atexit
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from peers.jvm import JARS as JARS, ROOT as ROOT, java as java, java_program as java_program, quick_options, why_missing as why_missing
from peers.ports import free_port as free_port
from peers.server_properties import CLUSTER_ID as CLUSTER_ID, server_properties as server_properties, write_properties as write_properties

# What a formatted directory depends on.
_SETTINGS_OF_FORMATS = ("log.dir", "metadata.log.dir", "node.id", "process.roles", "controller.quorum.", "unstable.")
# A JVM starts slowly on a busy machine.
START_SECONDS_MAX = 400


def run_tool(main_class: str, *arguments: str, stdin: str | None = None, seconds_max: float = 150) -> str:
    """Run one of Kafka's tools to its end and return its output; a failure shows both streams."""
    done = subprocess.run(java(main_class, *arguments), input=stdin, capture_output=True, text=True, timeout=seconds_max, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{main_class} {' '.join(arguments)} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def _format(properties: Path) -> None:
    run_tool("kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", CLUSTER_ID, "-c", str(properties))


@cache
def _formatted() -> Path:
    """A directory that Kafka's tool has formatted, for copies: it needs a JVM of its own, for a
    second of a processor, and writes the same each time."""
    parent = Path(tempfile.mkdtemp(prefix="apache-kafka-formatted-"))
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    write_properties(parent / "server.properties", server_properties(parent / "data", free_port(), free_port()))
    _format(parent / "server.properties")
    return parent / "data"


@contextmanager
def apache_kafka(
    data: Path | None = None,
    *,
    extra: dict[str, str] | None = None,
    format_storage: bool = True,
    port: int | None = None,
    classes: Path | None = None,
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A running broker: its bootstrap address and its process.

    A given ``data`` is kept; otherwise the directory is temporary. ``classes`` are those of
    plugins.
    """
    with tempfile.TemporaryDirectory(prefix="apache-kafka-") as temporary:
        port, controller_port = port or free_port(), free_port()
        directory = data or Path(temporary, "data")
        properties = Path(temporary, "server.properties")
        write_properties(properties, server_properties(directory, port, controller_port, extra))
        if format_storage and any(name.startswith(_SETTINGS_OF_FORMATS) for name in extra or {}):
            _format(properties)
        elif format_storage and not (directory / "meta.properties").exists():
            shutil.copytree(_formatted(), directory, dirs_exist_ok=True)
        log = Path(temporary, "kafka.out")
        with log.open("wb") as output:
            process = subprocess.Popen(
                java("kafka.Kafka", str(properties), options=quick_options("1G"), classes=classes), stdout=output, stderr=subprocess.STDOUT
            )
        try:
            await_port(port, process, log)
            yield f"127.0.0.1:{port}", process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"Kafka exited {process.returncode}:\n{log.read_text()[-4000:]}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"Kafka did not open port {port} in {START_SECONDS_MAX} s:\n{log.read_text()[-4000:]}")
