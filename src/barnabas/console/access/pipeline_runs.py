"""Files of pipelines in a directory, and the processes that this console runs of them.

A pipeline runs as a process of the machine of the console, with the login that its file names, and
its steps may be Python: so files are started only where the settings of a cluster allow it. The
pipelines of a console stop with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from barnabas.console.core.pipeline_file import PipelineFile, may_declare, read_pipeline_file
from barnabas.console.errors import BadValue, Busy, NotFound

FILES_MAX: Final = 500
FILE_BYTES_MAX: Final = 1024 * 1024
# Each is a Python process with a JVM.
RUNS_MAX: Final = 8
LINES_MAX: Final = 200
_LINE_BYTES_MAX: Final = 1024 * 1024
_LINE_CHARACTERS_MAX: Final = 2_000
# Spark writes its last batch before it ends.
STOP_SECONDS_MAX: Final = 60.0
VALIDATE_SECONDS_MAX: Final = 60.0
_SUFFIXES: Final = (".yaml", ".yml", ".py")


@dataclass(slots=True)
class PipelineRun:
    process: asyncio.subprocess.Process
    started: float
    """Seconds since 1970."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LINES_MAX))
    watch: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None


def pipeline_files(directory: str) -> list[PipelineFile]:
    """Blocks. Raises :class:`NotFound` for a directory that cannot be read."""
    try:
        names = sorted(each.name for each in Path(directory).iterdir() if each.suffix in _SUFFIXES and each.is_file())[:FILES_MAX]
    except OSError as error:
        raise NotFound(f"The directory of pipelines {directory} cannot be read: {error.strerror}.") from error
    return [found for name in names if (found := _read(Path(directory, name))) is not None]


def _read(path: Path) -> PipelineFile | None:
    """None for a module of Python that declares no pipeline."""
    try:
        with path.open("rb") as file:
            text = file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError as error:
        return PipelineFile(path.name, path.stem, None, f"The file cannot be read: {error.strerror}.")
    return read_pipeline_file(path.name, text) if may_declare(path.name, text) else None


class PipelineRuns:
    """The processes of one console, by cluster and file."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], PipelineRun] = {}

    def find(self, cluster: str, file: str) -> PipelineRun | None:
        return self._runs.get((cluster, file))

    async def start(self, cluster: str, directory: str, file: str, bootstrap: str) -> None:
        """Raises :class:`BadValue` if it runs, and :class:`Busy` if too many do."""
        known = self.find(cluster, file)
        if known is not None and known.is_running:
            raise BadValue(f"{file} runs already, as process {known.process.pid}.")
        if sum(each.is_running for each in self._runs.values()) >= RUNS_MAX:
            raise Busy(f"The console runs {RUNS_MAX} pipelines already; stop one.")
        run = PipelineRun(await _started(directory, bootstrap, "run", file), time.time())
        run.watch = asyncio.ensure_future(_watch(run))
        self._runs[cluster, file] = run

    async def stop(self, cluster: str, file: str) -> None:
        """Returns when it has ended; a pipeline that does not is killed."""
        run = self.find(cluster, file)
        if run is None or not run.is_running:
            raise NotFound(f"This console does not run {file}.")
        await _stopped(run.process)

    def close(self) -> None:
        for each in self._runs.values():
            if each.is_running:
                _signal(each.process, signal.SIGTERM)


async def validate(directory: str, file: str, bootstrap: str) -> tuple[bool, str]:
    """Whether the file is valid, and the sentences of the check."""
    process = await _started(directory, bootstrap, "validate", file)
    try:
        told, _ = await asyncio.wait_for(process.communicate(), VALIDATE_SECONDS_MAX)
    except TimeoutError:
        return False, f"The check of {file} took more than {VALIDATE_SECONDS_MAX:g} seconds."
    finally:
        if process.returncode is None:
            _signal(process, signal.SIGKILL)
    text = told.decode("utf-8", "replace").strip()
    return process.returncode == 0, text[-_LINE_CHARACTERS_MAX * 5 :]


async def _started(directory: str, bootstrap: str, command: str, file: str) -> asyncio.subprocess.Process:
    environment = {"BOOTSTRAP": bootstrap, **os.environ}
    if "PYTHONPATH" in environment:
        parts = filter(None, environment["PYTHONPATH"].split(os.pathsep))
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, parts))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "barnabas",
        "pipelines",
        command,
        file,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=_LINE_BYTES_MAX,
        cwd=directory,
        env=environment,
        start_new_session=True,
    )


async def _watch(run: PipelineRun) -> None:
    """Reads all output, so that the pipeline never waits for its reader."""
    assert run.process.stdout is not None
    while True:
        try:
            line = await run.process.stdout.readline()
        except ValueError:
            continue  # A line that is too long is left out.
        if not line:
            break
        text = line.decode("utf-8", "replace").rstrip()[:_LINE_CHARACTERS_MAX]
        # Lines of JSON are reports, which the progress topic has too.
        if text and not text.startswith("{"):
            run.lines.append(text)
    await run.process.wait()


async def _stopped(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(process, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_SECONDS_MAX)
            return


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
