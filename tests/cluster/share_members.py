"""Processes of share consumers, started, killed and replaced by a test.

Each process has a journal of its own in the directory of the test's evidence, and a file with its
client's log.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from peers.apache_kafka import java_program
from peers.cluster import ends_with_us
from tests.cluster.share_journal import Line, read

# The longest time for a clean stop: a client waits for its last acknowledgements.
STOP_SECONDS_MAX = 60.0


class Kind(NamedTuple):
    client: str  # librdkafka or java
    mode: str  # implicit, explicit, or with java renew


class Process:
    def __init__(
        self, kind: Kind, name: str, directory: Path, arguments: Sequence[str], *, count: int, seed: int, lock_seconds: float
    ) -> None:
        self.journal = directory / f"{name}.journal"
        self.journal.touch()
        bootstrap, group, topic = arguments
        words = [bootstrap, group, topic, kind.mode, name, str(count), str(seed), str(self.journal), str(lock_seconds)]
        if kind.client == "java":
            command = java_program(Path(__file__).with_name("ShareMember.java"), *words)
        else:
            command = [sys.executable, "-m", "tests.cluster.share_member", *words]
        self.log = directory / f"{name}.log"
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(ends_with_us(command), stdout=output, stderr=subprocess.STDOUT)

    def check_alive(self) -> None:
        code = self._process.poll()
        assert code is None, f"{self.log} ended with {code}:\n{self.log.read_text(errors='replace')[-2000:]}"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.log} did not stop:\n{self.log.read_text(errors='replace')[-2000:]}") from None


class Members:
    """One process for each kind, with ``count`` consumers each."""

    def __init__(
        self, kinds: Sequence[Kind], directory: Path, *, bootstrap: str, group: str, topic: str, count: int, seed: int, lock_seconds: float
    ) -> None:
        self._kinds = kinds
        self._directory = directory
        self._arguments = (bootstrap, group, topic)
        self._count = count
        self._seed = seed
        self._lock_seconds = lock_seconds
        self._started = 0
        self._running: list[Process] = []
        self._journals: list[Path] = []

    def __enter__(self) -> Self:
        self._running = [self._start(kind) for kind in self._kinds]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in self._running:
            process.kill()

    def _start(self, kind: Kind, *, count: int | None = None) -> Process:
        self._started += 1
        name = f"{kind.client}-{kind.mode}-{self._started}"
        process = Process(
            kind,
            name,
            self._directory,
            self._arguments,
            count=count or self._count,
            seed=self._seed,
            lock_seconds=self._lock_seconds,
        )
        self._journals.append(process.journal)
        return process

    def lines(self) -> list[Line]:
        return read(self._journals)

    def check_alive(self) -> None:
        for process in self._running:
            process.check_alive()

    def kill_one(self, slot: int) -> None:
        """Kills all consumers of a process at once, and starts others in their place."""
        self._running[slot].kill()
        self._running[slot] = self._start(self._kinds[slot])

    def stop_all(self) -> None:
        for process in self._running:
            process.stop()
        self._running = []

    def sweep(self) -> None:
        """One more member, which gets whatever is still delivered."""
        self._running = [self._start(Kind("librdkafka", "implicit"), count=1)]
