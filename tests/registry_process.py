"""Instances of the registry as processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import httpx

STOP_SECONDS_MAX = 60


class RegistryProcess:
    def __init__(self, bootstrap: str, *options: str) -> None:
        """Returns when the instance answers every request."""
        self.bootstrap = bootstrap
        command = [sys.executable, "-m", "barnabas", "registry", "-b", bootstrap, "--port", "0", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("ready registry="), f"the registry did not start: {line!r}"
        self.url = line.strip().removeprefix("ready registry=")

    def ask(self, method: str, path: str, body: Any = None, *, seconds_max: float = 90) -> httpx.Response:
        return httpx.request(method, f"{self.url}{path}", json=body, timeout=seconds_max)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> int:
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self._process.wait(STOP_SECONDS_MAX)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()


def several(bootstrap: str, count: int, *options: str) -> Sequence[RegistryProcess]:
    return [RegistryProcess(bootstrap, *options) for _ in range(count)]
