"""A Spark cluster of processes on this machine: a master and two workers, as its own scripts start
them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from tests.waiting import LONG_PATIENCE_SECONDS, until

STOP_SECONDS_MAX = 20.0
WORKERS = 2


class StandaloneCluster:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.home = Path(pyspark.__file__).parent
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "PYSPARK_PYTHON": sys.executable,
        }
        self.master = f"spark://127.0.0.1:{_free_port()}"

    def __enter__(self) -> Self:
        port = self.master.rpartition(":")[2]
        self._start("Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0")
        for number in range(WORKERS):
            work = self._folder / f"worker-{number}"
            self._start("Worker", self.master, "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(work))
        self._wait_for(int(port))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, role: str, *arguments: str) -> None:
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role.lower()}.{role}", *arguments]
        with (self._folder / f"{role}-{len(self._processes)}.log").open("wb") as log:
            self._processes.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self._folder))

    def _wait_for(self, port: int) -> None:
        """Wait for the master. Workers look for it by themselves, and a job waits for them."""

        def listens() -> bool:
            assert self._processes[0].poll() is None, "the master ended"
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True

        until(listens, "Spark's master listens", retry_on=OSError, seconds_max=LONG_PATIENCE_SECONDS)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
