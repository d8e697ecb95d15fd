"""Reports to outside observers whether the process of a pipeline is alive.

A run writes a small document every few seconds: its state, the time, and the identity of the
process. It lies beside the checkpoint (``<checkpoint>/<pipeline>/-kept/heartbeat``); if the
checkpoint is not on a local disk, it goes to the progress topic.

A process that ends cleanly writes that in its last heartbeat. For one that does not:

the reader is on                                  how it detects the end
===============================================   ==================================================
the same machine, boot and pid namespace          it looks for the process itself (pid and start
                                                  time): correct at once
any other place (shared disk, container, topic)   the last heartbeat is older than
                                                  ``SILENT_SECONDS_MAX``; the two clocks must agree

A lock on a file would do the same on one machine. It was rejected because on shared disks it
depends on the file system whether another machine sees the lock, and a machine that dies may hold
it for ever.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.kept_text import local_path
from barnabas.pipelines.running.preflight import uses_topics
from barnabas.pipelines.running.progress_topic import HeartbeatTopic

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

BEAT_SECONDS = 5.0
# Several heartbeats: one may be late on a busy machine, and clocks differ a little.
SILENT_SECONDS_MAX = 30.0
ENDS = frozenset({"ended", "failed"})

Write = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A pid alone is not enough: it is reused after a while, and other machines and containers have
    the same ones."""

    host: str
    boot: str  # the kernel's id of this boot; empty on systems without one
    namespace: str  # of pids
    pid: int
    started: int  # clock ticks after the boot


@dataclass(frozen=True, slots=True)
class Heartbeat:
    state: str  # starting, running, ended or failed
    at: str
    reason: str | None
    process: ProcessIdentity

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def parse_heartbeat(found: Mapping[str, Any]) -> Heartbeat:
    return Heartbeat(found["state"], found["at"], found["reason"], ProcessIdentity(**found["process"]))


def liveness_of(beat: Heartbeat, now: datetime, *, is_there: bool | None) -> str:
    """starting, running, ended, failed or died. ``is_there``: whether the process was found; None
    when it is out of reach."""
    if beat.state in ENDS:
        return beat.state
    if is_there is None:
        is_there = (now - datetime.fromisoformat(beat.at)).total_seconds() <= SILENT_SECONDS_MAX
    return beat.state if is_there else "died"


# -- processes -------------------------------------------------------------------------------


def this_process() -> ProcessIdentity:
    boot, namespace = _machine()
    found = _started(os.getpid())
    return ProcessIdentity(socket.gethostname(), boot, namespace, os.getpid(), found or 0)


def is_there(process: ProcessIdentity) -> bool | None:
    boot, namespace = _machine()
    if not boot or (boot, namespace) != (process.boot, process.namespace):
        return None
    return _started(process.pid) == process.started


def _machine() -> tuple[str, str]:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(), os.readlink("/proc/self/ns/pid")
    except OSError:
        return "", ""


def _started(pid: int) -> int | None:
    """None when there is no such process, or only a zombie."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    state, started = fields[0], int(fields[19])
    return None if state in ("Z", "X") else started


# -- writing and reading ---------------------------------------------------------------------


class HeartbeatWriter:
    """Writes heartbeats for several pipelines of one process."""

    def __init__(self, writes: Sequence[Write]) -> None:
        self._writes = writes
        self._beat = Heartbeat("starting", "", None, this_process())
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def running(self) -> None:
        self._change("running")

    def ended(self, reason: str | None) -> None:
        self._stopped.set()
        self._change("ended" if reason is None else "failed", reason)

    def beat_until_ended(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            self.beat()

    def _change(self, state: str, reason: str | None = None) -> None:
        with self._lock:
            self._beat = replace(self._beat, state=state, reason=reason)
        self.beat()

    def beat(self) -> None:
        with self._lock:
            text = replace(self._beat, at=datetime.now(UTC).isoformat()).as_json()
            for write in self._writes:
                write(text)


@contextmanager
def heartbeats(pipelines: Sequence[PipelineDeclaration], checkpoint: str | None) -> Iterator[HeartbeatWriter]:
    """Starts with ``starting``. The final state follows from how the block ends."""
    with ExitStack() as at_end:
        heart = HeartbeatWriter([_writer(pipeline, checkpoint, at_end) for pipeline in pipelines])
        heart.beat()
        thread = threading.Thread(target=heart.beat_until_ended, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield heart
        except BaseException as failed:
            heart.ended(str(failed) or type(failed).__name__)
            raise
        else:
            heart.ended(None)
        finally:
            thread.join()


def newest_heartbeat(pipeline: PipelineDeclaration, checkpoint: str | None, reports: Mapping[str, Mapping[str, Any]]) -> Heartbeat | None:
    """``reports`` are the progress topic's. None if no run ever wrote a heartbeat."""
    path = _local(pipeline, checkpoint)
    try:
        found = reports.get(HeartbeatTopic.key_of(pipeline.name)) if path is None else json.loads(path.read_text("utf-8"))
        return None if found is None else parse_heartbeat(found)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _local(pipeline: PipelineDeclaration, checkpoint: str | None) -> Path | None:
    folder = local_path(f"{(checkpoint or pipeline.checkpoint).rstrip('/')}/{pipeline.name}")
    return None if folder is None else Path(folder, "-kept", "heartbeat")


def _writer(pipeline: PipelineDeclaration, checkpoint: str | None, at_end: ExitStack) -> Write:
    path = _local(pipeline, checkpoint)
    if path is not None:
        return lambda text: _replace(path, text)
    if uses_topics(pipeline):
        return at_end.enter_context(HeartbeatTopic(pipeline)).send
    return lambda _: None


def _replace(path: Path, text: str) -> None:
    """A pipeline does not fail because it cannot be watched: the queries report a disk that is full
    or gone."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(text, "utf-8")
        os.replace(fresh, path)
