"""Apache Kafka 4.3 beside us: its tools, its classes as oracles, and a real broker.

Everything needs Java and the jars that ``make kafka-jars`` fetches. :func:`why_missing` names the
missing part in a sentence, and tests skip with it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peers.ports import free_port as free_port

ROOT = Path(__file__).resolve().parent.parent
JARS = Path(os.environ.get("KAFKA_JARS", ROOT / ".kafka" / "lib"))
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
# A JVM starts slowly on a busy machine.
START_SECONDS_MAX = 150

# Kafka's own scripts start tools with a small heap; the quick compiler halves the start time of
# these short-lived processes.
_TOOL_OPTIONS = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
# The options that bin/kafka-server-start.sh gives a broker.
_BROKER_OPTIONS = [
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


def why_missing() -> str | None:
    if shutil.which("java") is None:
        return "no java on this machine"
    if not list(JARS.glob("kafka-clients-*.jar")):
        return f"no Kafka jars in {JARS.relative_to(ROOT) if JARS.is_relative_to(ROOT) else JARS}: run `make kafka-jars`"
    return None


def java(*arguments: str, options: list[str] | None = None) -> list[str]:
    """The command that runs a class or a single-file program with Kafka on its class path."""
    return ["java", *(options or _TOOL_OPTIONS), _QUIET, "-cp", f"{JARS}/*", *arguments]


def run_tool(main_class: str, *arguments: str, stdin: str | None = None, seconds_max: float = 150) -> str:
    """Run one of Kafka's tools to its end and return its output; a failure shows both streams."""
    done = subprocess.run(java(main_class, *arguments), input=stdin, capture_output=True, text=True, timeout=seconds_max, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{main_class} {' '.join(arguments)} exited {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def server_properties(data: Path, port: int, controller_port: int, extra: dict[str, str] | None = None) -> dict[str, str]:
    """The smallest configuration of a combined node; both Kafka and Barnabas accept it."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **(extra or {}),
    }


def write_properties(path: Path, properties: dict[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


@contextmanager
def apache_kafka(
    data: Path | None = None, *, extra: dict[str, str] | None = None, format_storage: bool = True, port: int | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A running broker: its bootstrap address and its process.

    A given ``data`` is kept; otherwise the directory is temporary.
    """
    with tempfile.TemporaryDirectory(prefix="apache-kafka-") as temporary:
        port, controller_port = port or free_port(), free_port()
        directory = data or Path(temporary, "data")
        properties = Path(temporary, "server.properties")
        write_properties(properties, server_properties(directory, port, controller_port, extra))
        if format_storage:
            run_tool("kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", CLUSTER_ID, "-c", str(properties))
        log = Path(temporary, "kafka.out")
        with log.open("wb") as output:
            process = subprocess.Popen(
                java("kafka.Kafka", str(properties), options=_BROKER_OPTIONS), stdout=output, stderr=subprocess.STDOUT
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
