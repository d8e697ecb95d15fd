"""The measured systems: each is a server in a child process on loopback, with temporary data.

A system has one server that runs during the whole benchmark, started when the first row needs it,
and makes fresh ones for rows that measure starting. Both systems get the same properties, and
their defaults are the same.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from barnabas import __version__ as barnabas_version
from bench import usage
from peers import apache_kafka

START_SECONDS_MAX = 60.0
# A stop with tens of thousands of partitions on a busy machine.
STOP_SECONDS_MAX = 600.0
LOG_CHARACTERS_SHOWN = 2000

# Settings in addition to those that a single node needs. Topics are created explicitly, so that a
# late client cannot bring a deleted one back. Deleted data goes soon, before the kernel writes
# gigabytes to the disk that no client reads.
#
# No rebalance is delayed to wait for more members, because the benchmark measures work. Groups of
# the consumer and the streams protocol get the session timeout and heartbeat interval that members
# of the classic protocol choose.
SETTINGS = {
    "auto.create.topics.enable": "false",
    "log.segment.delete.delay.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "100",
    "group.streams.assignment.interval.ms": "0",
}

# The options that bin/kafka-run-class.sh gives every JVM, and those that kafka-server-start.sh adds
# for a broker.
JVM_OPTIONS = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]
# kafka-run-class.sh gives a tool this heap.
TOOL_JVM_OPTIONS = ["-Xmx256M", *JVM_OPTIONS]
BROKER_JVM_OPTIONS = ["-Xmx1G", "-Xms1G", *JVM_OPTIONS]


class ServerDied(Exception):
    """The text has the end of the server's output."""


class Server:
    """A server's process. It starts when this object is made."""

    def __init__(self, name: str, command: list[str], port: int, directory: Path) -> None:
        self.port = port
        # What librdkafka needs beside the address, for a server that asks for TLS or a login.
        self.client: dict[str, str] = {}
        self.bootstrap = f"127.0.0.1:{port}"
        self._name = name
        self._directory = directory
        self.data = directory / "data"
        self._log = directory / "server.out"
        self._command = command
        self._start()

    def _start(self) -> None:
        with self._log.open("ab") as output:
            self.started_at = time.perf_counter()
            # In a new session Ctrl-C reaches only the benchmark, which then ends its servers and
            # the processes that they started.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def restart(self) -> None:
        """Kill the server, start it again on its data, and wait for its port."""
        self.kill()
        self.start_again()
        self.await_port()

    def start_again(self) -> None:
        """Starts the server on its data, and does not wait for it."""
        assert self._process.poll() is not None, f"{self._name} is running"
        self._start()

    def stop(self) -> None:
        """Ends the server by SIGTERM, so that it marks its logs as clean."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired as late:
            raise ServerDied(f"{self._name} did not stop in {STOP_SECONDS_MAX:g} s") from late

    def check_alive(self) -> None:
        if self._process.poll() is not None:
            written = self._log.read_text(errors="replace")[-LOG_CHARACTERS_SHOWN:]
            raise ServerDied(f"{self._name} ended with code {self._process.returncode}: {written.strip()}")

    def await_port(self, seconds_max: float = START_SECONDS_MAX) -> None:
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline:
            self.check_alive()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise ServerDied(f"{self._name} did not open its port in {seconds_max:g} s")

    def cpu_seconds(self) -> float:
        self.check_alive()
        return usage.cpu_seconds(self._process.pid)

    def resident_bytes(self) -> int:
        self.check_alive()
        return usage.resident_bytes(self._process.pid)

    def end(self) -> None:
        """Kill the server: its data is not needed, and a shutdown that hangs would leave a process
        behind."""
        self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class System(ABC):
    key: str
    name: str

    def __init__(self) -> None:
        self._server: Server | None = None
        # Called when the long-running server has started, before any row uses it.
        self.on_started: Callable[[Server], None] | None = None

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def launch(self, settings: Mapping[str, str]) -> Server:
        """A server with data of its own, whose port need not be open yet."""

    def server(self) -> Server:
        """The long-running server. If it died, that row has failed, and the next row gets a new
        server."""
        if self._server is not None:
            try:
                self._server.check_alive()
            except ServerDied:
                self.close()
        if self._server is None:
            self._server = self.launch({})
            try:
                self._server.await_port()
                if self.on_started is not None:
                    self.on_started(self._server)
            except BaseException:
                self.close()
                raise
        return self._server

    @contextmanager
    def fresh_server(self, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
        """A server just started on a newly formatted directory, with additional settings; its port
        is not open yet."""
        server = self.launch(settings or {})
        try:
            yield server
        finally:
            server.end()

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.end()


class ComparedSystem(System):
    """One of the two systems of the benchmarks: it reads Kafka's ``server.properties``."""

    @abstractmethod
    def format_storage(self, properties: Path) -> None: ...

    @abstractmethod
    def command(self, properties: Path) -> list[str]: ...

    @abstractmethod
    def version_command(self) -> list[str]: ...

    @abstractmethod
    def list_topics_command(self, bootstrap: str) -> list[str]: ...

    def launch(self, settings: Mapping[str, str]) -> Server:
        directory = Path(tempfile.mkdtemp(prefix=f"bench-{self.key}-"))
        try:
            port, controller_port = apache_kafka.free_port(), apache_kafka.free_port()
            properties = directory / "server.properties"
            given = SETTINGS | dict(settings)
            apache_kafka.write_properties(properties, apache_kafka.server_properties(directory / "data", port, controller_port, given))
            self.format_storage(properties)
            return Server(self.name, self.command(properties), port, directory)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise


class Barnabas(ComparedSystem):
    key = "barnabas"
    name = "Barnabas"

    def version(self) -> str:
        try:
            # Of the product: the benchmark itself changes pages and figures.
            commit = _git("log", "-1", "--format=%h", "--", "src")
            changed = _git("status", "--porcelain", "src")
        except (OSError, subprocess.CalledProcessError):
            return barnabas_version  # An unpacked archive has no commit.
        return f"{barnabas_version} ({commit}{'-dirty' if changed else ''})"

    def format_storage(self, properties: Path) -> None:
        self._run("storage", "format", "--cluster-id", apache_kafka.CLUSTER_ID, "--config", str(properties))

    def command(self, properties: Path) -> list[str]:
        # peers.apache_kafka gives Apache Kafka the same log level.
        return [sys.executable, "-m", "barnabas", "server", "--no-environment", "--config", str(properties), "--log-level", "WARN"]

    def version_command(self) -> list[str]:
        return [sys.executable, "-m", "barnabas", "--version"]

    def list_topics_command(self, bootstrap: str) -> list[str]:
        return [sys.executable, "-m", "barnabas", "topics", "list", "--bootstrap", bootstrap]

    def _run(self, *arguments: str) -> None:
        done = subprocess.run([sys.executable, "-m", "barnabas", *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ServerDied(f"barnabas {' '.join(arguments[:2])} failed: {(done.stderr or done.stdout).strip()}")


class ApacheKafka(ComparedSystem):
    key = "kafka"
    name = "Apache Kafka"

    def version(self) -> str:
        jar = next(iter(apache_kafka.JARS.glob("kafka-clients-*.jar")))
        return jar.stem.removeprefix("kafka-clients-")

    def format_storage(self, properties: Path) -> None:
        apache_kafka.run_tool("kafka.tools.StorageTool", "format", "-t", apache_kafka.CLUSTER_ID, "-c", str(properties))

    def command(self, properties: Path) -> list[str]:
        return apache_kafka.java("kafka.Kafka", str(properties), options=BROKER_JVM_OPTIONS)

    def version_command(self) -> list[str]:
        return self._topics_tool("--version")

    def list_topics_command(self, bootstrap: str) -> list[str]:
        return self._topics_tool("--list", "--bootstrap-server", bootstrap)

    def _topics_tool(self, *arguments: str) -> list[str]:
        return apache_kafka.java("org.apache.kafka.tools.TopicCommand", *arguments, options=TOOL_JVM_OPTIONS)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=apache_kafka.ROOT, capture_output=True, text=True, check=True).stdout.strip()
