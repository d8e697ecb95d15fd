"""The programs beside the brokers, each a process of its own: a schema registry and a console."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

STOP_SECONDS_MAX = 30.0
CLUSTER = "mybank"


@contextmanager
def running_registry(bootstrap: str) -> Iterator[str]:
    """Its address, once it answers."""
    with _running(["registry", "--bootstrap", bootstrap, "--port", "0"], "ready registry=", "the schema registry") as address:
        yield address


@contextmanager
def running_console(bootstrap: str, registry: str, *, pipelines: Path, folder: Path) -> Iterator[str]:
    """Its address, once it answers. ``pipelines`` has the files that the console shows beside what
    the pipelines report."""
    cluster = {"bootstrap": bootstrap, "registry": registry, "pipelines": str(pipelines)}
    settings = folder / "console.yaml"
    settings.write_text(yaml.safe_dump({"clusters": {CLUSTER: cluster}}))
    words = ["console", "--config", str(settings), "--listen", "127.0.0.1:0"]
    with _running(words, "ready console=", "the console") as address:
        yield address


@contextmanager
def _running(words: Sequence[str], ready: str, name: str) -> Iterator[str]:
    """A session of its own keeps Ctrl-C away: the demo stops its programs itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.startswith(ready):
            raise SystemExit(f"The demo cannot run: {name} did not start.")
        yield line.strip().removeprefix(ready)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
