"""The process that compacts: records are opened there, so that no produce request waits for the interpreter meanwhile.

    parent -> child   a CleaningJob, or a Pace for whatever the child is doing
    child -> parent   a CleanedSegment whenever a group is durable, then the CleaningResult, Stopped or a Failure

The child writes nothing but ``.cleaned`` files, which count for nothing until the parent swaps them in. So it may be killed at any moment,
and that is also how a cleaning is stopped. When the parent is gone its end of the pipe closes, and the child ends with it.
"""

from __future__ import annotations

import errno
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, Protocol

from barnabas.env.disk import Disk
from barnabas.env.real_disk import RealDisk
from barnabas.storage.compaction.cleaning_job import CleanedSegment, CleaningJob, CleaningResult, CleaningStopped, Uncleanable

# Whoever serves clients comes first where processors are scarce, and compaction still gets on: a third of a fair share.
NICENESS = 5
# A pace is kept over such a time: shorter waits would cost more than they give.
PACED_SECONDS_MIN = 0.05
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Pace:
    """How many bytes a second may be read and written together."""

    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job was given up: ``errno`` of a disk that failed, else what is wrong with the log or with us."""

    reason: str
    errno: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The log is no longer what the job was made for."""

    reason: str


class WorkerDied(Exception):
    """The child ended in the middle of its job, or was made to."""


class CleaningWorker(Protocol):
    @property
    def executor(self) -> Executor | None:
        """Whose thread waits in :meth:`clean`."""

    @property
    def ended(self) -> bool: ...

    def clean(self, job: CleaningJob, on_cleaned: Callable[[CleanedSegment], None]) -> CleaningResult:
        """On a thread of its own, which waits. ``Uncleanable``, ``CleaningStopped``, ``OSError`` of the directory, or
        :class:`WorkerDied`."""

    def pace(self, bytes_per_second: float) -> None: ...

    def end(self) -> None:
        """At once and for good, whatever it is doing: who waits for :meth:`clean` learns of it."""


class Throttle:
    """Waits so that what is reported stays below the pace, which may change while it waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pace = float("inf")
        self._owed_seconds = 0.0
        self._paid_at = time.monotonic()

    def set(self, pace: Pace) -> None:
        with self._changed:
            self._pace = max(pace.bytes_per_second, 1.0)
            self._owed_seconds = 0.0
            self._changed.notify_all()

    def __call__(self, size_bytes: int) -> None:
        with self._changed:
            now = time.monotonic()
            self._owed_seconds = max(0.0, self._owed_seconds - (now - self._paid_at)) + size_bytes / self._pace
            self._paid_at = now
            while self._owed_seconds > PACED_SECONDS_MIN:
                self._changed.wait(self._owed_seconds)
                now = time.monotonic()
                self._owed_seconds -= now - self._paid_at
                self._paid_at = now


class CleaningProcess:
    """The parent's side of one child, which its first job starts."""

    def __init__(self, bytes_per_second: float) -> None:
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="cleaner")
        self._pace = Pace(bytes_per_second)
        self._process: subprocess.Popen[bytes] | None = None
        self.ended = False
        self._changing = threading.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def clean(self, job: CleaningJob, on_cleaned: Callable[[CleanedSegment], None]) -> CleaningResult:
        process = self._started()
        self._tell(job)
        assert process.stdout is not None
        while True:
            match _receive(process.stdout):
                case CleanedSegment() as cleaned:
                    on_cleaned(cleaned)
                case CleaningResult() as result:
                    return result
                case Stopped(reason):
                    raise CleaningStopped(reason)
                case Failure(reason, None):
                    raise Uncleanable(reason)
                case Failure(reason, code, path):
                    raise OSError(code, reason, path)
                case _:
                    self.end()
                    raise WorkerDied(f"the process that compacts ended with code {process.wait()}")

    def _started(self) -> subprocess.Popen[bytes]:
        with self._changing:
            if self.ended:
                raise WorkerDied("the cleaner has stopped")
            if self._process is None:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
                    [sys.executable, "-c", f"from {__name__} import main; main()"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    # Ctrl-C is for the parent.
                    start_new_session=True,
                )
                self._send(self._pace)
            return self._process

    def pace(self, bytes_per_second: float) -> None:
        pace = Pace(bytes_per_second)
        if pace != self._pace:
            self._pace = pace
            self._tell(pace)

    def _tell(self, what: CleaningJob | Pace) -> None:
        with self._changing:
            self._send(what)

    def _send(self, what: CleaningJob | Pace) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            # A child that is gone is missed where its answer is waited for.
            with suppress(BrokenPipeError):
                _send(self._process.stdin, what)

    def end(self) -> None:
        with self._changing:
            if self.ended:
                return
            self.ended = True
            process = self._process
        if process is not None:
            process.kill()
            self.executor.submit(_bury, process)
        self.executor.shutdown(wait=False)


class CleaningInPlace:
    """For disks that no other process can reach, as in the simulation."""

    executor: Executor | None = None

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.ended = False

    def clean(self, job: CleaningJob, on_cleaned: Callable[[CleanedSegment], None]) -> CleaningResult:
        from barnabas.storage.compaction.cleaning import clean

        return clean(job, self._disk, should_stop=lambda: self.ended, on_cleaned=on_cleaned)

    def pace(self, bytes_per_second: float) -> None:
        """Simulated time does not pass meanwhile."""

    def end(self) -> None:
        self.ended = True


def _bury(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _send(pipe: IO[bytes], what: object) -> None:
    data = pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> object | None:
    """None when the other side is gone, be it in the middle of a word."""
    prefix = pipe.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(prefix)
    data = pipe.read(size)
    return pickle.loads(data) if len(data) == size else None  # noqa: S301 - between us and our own child


def serve(source: IO[bytes], target: IO[bytes], disk: Disk) -> None:
    """The child: jobs one after the other until the parent is gone."""
    # Not by the parent, which starts faster without it.
    from barnabas.storage.compaction.cleaning import clean

    jobs: SimpleQueue[CleaningJob] = SimpleQueue()
    throttle = Throttle()

    def listen() -> None:
        while True:
            match _receive(source):
                case CleaningJob() as job:
                    jobs.put(job)
                case Pace() as pace:
                    throttle.set(pace)
                case _:
                    # Nobody would put in place what is being written here.
                    os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        job = jobs.get()
        try:
            answer: CleaningResult | Stopped | Failure = clean(
                job, disk, throttle=throttle, on_cleaned=lambda cleaned: _send(target, cleaned)
            )
        except CleaningStopped as changed:
            answer = Stopped(str(changed))
        except Uncleanable as damage:
            answer = Failure(str(damage))
        except OSError as wrong:
            answer = Failure(wrong.strerror or str(wrong), wrong.errno or errno.EIO, wrong.filename)
        except Exception as wrong:  # noqa: BLE001 - a log that we cannot clean must not keep others from being cleaned
            traceback.print_exc()
            answer = Failure(f"{type(wrong).__name__}: {wrong}")
        _send(target, answer)


def main() -> None:
    os.nice(NICENESS)
    # What anybody prints must not come between the answers.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with open(answers, "wb") as target:
        serve(sys.stdin.buffer, target, RealDisk())


if __name__ == "__main__":
    main()
