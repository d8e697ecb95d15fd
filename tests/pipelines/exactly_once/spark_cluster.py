"""Spark's standalone cluster: a master and two workers as processes of this machine, from PySpark's
own files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from peers.apache_kafka import free_port
from tests.pipelines.exactly_once.pipeline_process import command_of, descendants, kill
from tests.waiting import LONG_PATIENCE_SECONDS, until

WORKERS = 2
_HOME = Path(pyspark.__file__).parent


class SparkCluster:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port, self._ui = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{port}"
        self._environment = {**os.environ, "SPARK_HOME": str(_HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
        self._master = self._start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(self._ui))
        self._workers = [self._start_worker(number) for number in range(WORKERS)]

    def submit(self, script: str, *arguments: str, jars: list[str]) -> list[str]:
        """The command; its environment is :attr:`environment`."""
        settings = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m"}
        conf = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        return [str(_HOME / "bin" / "spark-submit"), "--master", self.master, "--jars", ",".join(jars), *conf, script, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return self._environment

    def executors(self) -> list[int]:
        below = [pid for worker in self._workers for pid in descendants(worker.pid)]
        return [pid for pid in below if any("CoarseGrainedExecutorBackend" in part for part in command_of(pid))]

    def await_workers(self) -> None:
        until(
            lambda: self._alive_workers() >= WORKERS,
            "Spark's cluster starts",
            seen=(self._folder / "cluster.log").read_text,
            seconds_max=LONG_PATIENCE_SECONDS,
            pause_seconds=0.2,
        )

    def stop(self) -> None:
        for process in (*self._workers, self._master):
            for pid in descendants(process.pid):
                kill(pid)
            process.kill()
            process.wait()

    def _alive_workers(self) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ui}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return 0

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        where = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(self._folder / f"worker{number}"))
        return self._start("worker.Worker", *where, "--cores", "1", "--memory", "512m", self.master)

    def _start(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments]
        with (self._folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(command, env=self._environment, cwd=self._folder, stdout=log, stderr=subprocess.STDOUT)


@contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    with ExitStack() as at_end:
        cluster = SparkCluster(folder)
        at_end.callback(cluster.stop)
        cluster.await_workers()
        yield cluster
