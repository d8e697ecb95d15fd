"""``barnabas up --brokers N`` as a process of its own, with ways to kill and restart its nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS


class UpCluster:
    def __init__(self, data_dir: Path, *, brokers: int, overrides: Mapping[str, str] | None = None, options: Sequence[str] = ()) -> None:
        self.data_dir = data_dir
        overridden = [part for name, value in (overrides or {}).items() for part in ("--override", f"{name}={value}")]
        self._words = ("up", "--brokers", brokers, "--port", 0, "--data-dir", data_dir, *overridden, *options)
        self.process: subprocess.Popen[bytes]
        self.ready: dict[str, str] = {}
        self._restarted: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.process = Cli().process(*self._words)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if not line.startswith("ready "):
            out, err = self.process.communicate(timeout=PATIENCE_SECONDS)
            raise AssertionError(f"no cluster: {line!r} {out!r} {err!r}")
        self.ready = dict(word.split("=", 1) for word in line.split()[1:])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for each in self._restarted.values():
            each.kill()
            each.communicate()
        out, err = self.stop()
        if error is not None:
            error.add_note(f"barnabas up wrote {out!r} {err!r}")

    @property
    def bootstrap(self) -> str:
        return self.ready["bootstrap"]

    @property
    def pids(self) -> list[int]:
        """In the order of the nodes."""
        return [int(pid) for pid in self.ready["pids"].split(",")]

    def kill(self, node_id: int) -> None:
        """As ``kill -9`` does it."""
        if restarted := self._restarted.pop(node_id, None):
            restarted.kill()
            restarted.communicate()
        else:
            os.kill(self.pids[node_id - 1], signal.SIGKILL)

    def start(self, node_id: int) -> None:
        """Starts a node by hand, with the file that ``up`` has written for it."""
        file = self.data_dir / f"node-{node_id}.properties"
        self._restarted[node_id] = subprocess.Popen(
            [sys.executable, "-m", "barnabas", "server", "--log-level", "ERROR", "--config", str(file)], stdout=subprocess.DEVNULL
        )

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[bytes, bytes]:
        """Stops the nodes that ``up`` has started; returns the output since it was ready."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.communicate(timeout=PATIENCE_SECONDS)
