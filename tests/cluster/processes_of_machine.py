"""``barnabas server --processes N`` as a process of its own, on one file of settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from peers.apache_kafka import CLUSTER_ID, write_properties
from peers.ports import free_range
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

# For the controller, up to four processes, and the page.
PORTS = 8


def alive(pid: int) -> bool:
    """A zombie has ended: only its parent has not taken note of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Machine:
    """The settings and the data of one machine, which is started again and again."""

    def __init__(self, directory: Path, *, format_options: tuple[str, ...] = (), more: Mapping[str, str] | None = None) -> None:
        self.file = directory / "server.properties"
        self.data = directory / "data"
        self.log = directory / "machine.log"
        # The controller stands where the second process would, and is passed over.
        self.port, controller, *_, self.metrics_port = free_range(PORTS)
        voters = "controller.quorum.bootstrap.servers" if format_options else "controller.quorum.voters"
        self.properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            voters: f"127.0.0.1:{controller}" if format_options else f"1@127.0.0.1:{controller}",
            "log.dirs": str(self.data),
            "barnabas.prometheus.listener": f"127.0.0.1:{self.metrics_port}",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "3",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **(more or {}),
        }
        write_properties(self.file, self.properties)
        Cli()("storage", "format", "--cluster-id", CLUSTER_ID, "--config", self.file, *format_options).worked()

    def serve(self, processes: int | None, environment: Mapping[str, str] | None = None) -> Running:
        return Running(self, processes, {**os.environ, **(environment or {})})

    def refused(self, *options: object) -> str:
        """The sentence with which a start ends."""
        return Cli()("server", "--log-level", "FATAL", "--config", self.file, *options).complaint


class Running:
    """A server that runs; at the end it is killed, if it still runs."""

    def __init__(self, machine: Machine, processes: int | None, environment: Mapping[str, str]) -> None:
        self.machine = machine
        self._environment = environment
        self._options = () if processes is None else ("--processes", str(processes))
        self.ready: dict[str, str] = {}

    def __enter__(self) -> Self:
        with self.machine.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "barnabas", "server", "--config", str(self.machine.file), *self._options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line.startswith("ready "), self.machine.log.read_text()
        self.ready = dict(word.split("=", 1) for word in line.split()[1:])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            error.add_note(self.machine.log.read_text()[-8000:])
        pids = self.pids if "pids" in self.ready else []
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_SECONDS)
        until(lambda: not any(map(alive, pids)), "the processes end with their supervisor")

    @property
    def bootstrap(self) -> str:
        return self.ready["bootstrap"]

    @property
    def pids(self) -> list[int]:
        """In the order of the nodes, as they were when the server got ready."""
        return [int(pid) for pid in self.ready["pids"].split(",")]

    def events(self) -> list[dict[str, Any]]:
        """Every line of the log is an event."""
        lines = self.machine.log.read_text().split("\n")
        return [json.loads(line) for line in lines[:-1]]

    def kill_node(self, node_id: int) -> None:
        os.kill(self.pids[node_id - 1], signal.SIGKILL)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_SECONDS)
