"""The process that compacts. Records are opened there, so that no produce request waits for the
interpreter in the meantime.

    parent -> child   a CleaningJob, or a Pace for the job in progress
    child -> parent   a CleanedSegment whenever a group is durable, then the CleaningResult,
                      Stopped or a Failure

The child writes only ``.cleaned`` files, which have no effect until the parent swaps them in. So it
may be killed at any moment, and that is also how a cleaning is stopped. When the parent ends, its
end of the pipe closes, and the child ends too.
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
from queue import SimpleQueue
from typing import IO, Protocol

from barnabas.env.disk import Disk
from barnabas.env.real_disk import RealDisk
from barnabas.model.dataclass import dataclass
from barnabas.storage.compaction.cleaning_job import CleanedSegment, CleaningJob, CleaningResult, CleaningStopped, Uncleanable

# Where processors are scarce, the processes that serve clients come first, and compaction still
# makes progress: a third of a fair share.
NICENESS = 5
# A pace is kept over at least this time, because shorter sleeps would cost more than they give.
PACED_SECONDS_MIN = 0.05
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Pace:
    """The limit for bytes read and written together, per second."""

    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job failed: ``errno`` when the disk failed, otherwise a sentence about the log or a bug
    of ours."""

    reason: str
    errno: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The log has changed since the job was made."""

    reason: str


class WorkerDied(Exception):
    """The child ended, or was killed, in the middle of its job."""


class CleaningWorker(Protocol):
    @property
    def executor(self) -> Executor | None:
        """The executor whose thread waits in :meth:`clean`."""

    @property
    def ended(self) -> bool: ...

    def clean(self, job: CleaningJob, on_cleaned: Callable[[CleanedSegment], None]) -> CleaningResult:
        """Run a job; called on a thread of its own, which waits. Raises ``Uncleanable``,
        ``CleaningStopped``, ``OSError`` of the directory, or :class:`WorkerDied`."""

    def pace(self, bytes_per_second: float) -> None: ...

    def end(self) -> None:
        """End at once and for good, also in the middle of a job: the thread in :meth:`clean` gets
        :class:`WorkerDied`."""


class Throttle:
    """Sleeps so that the reported bytes stay below the pace, which may change during a sleep."""

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
    """The parent's side of one child, which the first job starts."""

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
        self._send_to_child(job)
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
                    # Ctrl-C goes to the parent only.
                    start_new_session=True,
                )
                self._send(self._pace)
            return self._process

    def pace(self, bytes_per_second: float) -> None:
        pace = Pace(bytes_per_second)
        if pace != self._pace:
            self._pace = pace
            self._send_to_child(pace)

    def _send_to_child(self, what: CleaningJob | Pace) -> None:
        with self._changing:
            self._send(what)

    def _send(self, what: CleaningJob | Pace) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            # The thread that waits for the response notices that the child is gone.
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
            self.executor.submit(_reap, process)
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
        """Simulated time does not pass during a job, so a pace has no effect."""

    def end(self) -> None:
        self.ended = True


def _reap(process: subprocess.Popen[bytes]) -> None:
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
    """None when the other side is gone, also in the middle of a message."""
    prefix = pipe.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(prefix)
    data = pipe.read(size)
    return pickle.loads(data) if len(data) == size else None  # noqa: S301 - between us and our own child


def serve(source: IO[bytes], target: IO[bytes], disk: Disk) -> None:
    """The child: runs one job after the other until the parent is gone."""
    # Imported here, because the parent does not need it and starts faster without it.
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
                    # The parent is gone, so no process would swap in the files that are being
                    # written.
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
        except OSError as error:
            answer = Failure(error.strerror or str(error), error.errno or errno.EIO, error.filename)
        except Exception as error:  # noqa: BLE001 - a log that we cannot clean must not keep others from being cleaned
            traceback.print_exc()
            answer = Failure(f"{type(error).__name__}: {error}")
        _send(target, answer)


def main() -> None:
    os.nice(NICENESS)
    # Output of a stray print must not mix with the responses.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with open(answers, "wb") as target:
        serve(sys.stdin.buffer, target, RealDisk())


if __name__ == "__main__":
    main()
