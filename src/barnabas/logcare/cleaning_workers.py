"""The workers of the log cleaner: started when there is work, kept for a while when there is none,
all at one pace."""

from __future__ import annotations

import asyncio

from barnabas.env.disk import Disk
from barnabas.env.real_disk import RealDisk
from barnabas.logcare.cleaning_process import CleaningInPlace, CleaningProcess, CleaningWorker

# A worker that is idle for this long ends and gives its memory back.
IDLE_SECONDS_MAX = 30.0


class CleaningWorkers:
    def __init__(self, disk: Disk, bytes_per_second_each: float) -> None:
        self._disk = disk
        self._bytes_per_second_each = bytes_per_second_each
        self._busy: dict[CleaningWorker, None] = {}
        self._idle: dict[CleaningWorker, asyncio.TimerHandle] = {}
        self._ended = False

    def hire(self) -> CleaningWorker:
        if self._idle:
            worker, timer = self._idle.popitem()
            timer.cancel()
        elif isinstance(self._disk, RealDisk):
            worker = CleaningProcess(self._bytes_per_second_each)
        else:
            worker = CleaningInPlace(self._disk)
        self._busy[worker] = None
        return worker

    def rest(self, worker: CleaningWorker) -> None:
        """The worker is idle again, or has ended."""
        del self._busy[worker]
        if self._ended:
            worker.end()
        elif not worker.ended:
            self._idle[worker] = asyncio.get_running_loop().call_later(IDLE_SECONDS_MAX, self._dismiss, worker)

    def pace(self, bytes_per_second_each: float) -> None:
        """Set the pace of all workers, also for jobs in progress."""
        self._bytes_per_second_each = bytes_per_second_each
        for worker in (*self._busy, *self._idle):
            worker.pace(bytes_per_second_each)

    def end(self) -> None:
        """End all workers, also those with a job in progress."""
        self._ended = True
        for worker in self._busy:
            worker.end()
        for worker in list(self._idle):
            self._dismiss(worker)

    def _dismiss(self, worker: CleaningWorker) -> None:
        self._idle.pop(worker).cancel()
        worker.end()
