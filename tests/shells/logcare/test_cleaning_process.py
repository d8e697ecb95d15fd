"""The process that compacts: it does its jobs, ends on request, and never outlives its parent."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.env.real_disk import RealDisk
from barnabas.logcare.cleaning_process import CleaningProcess, WorkerDied
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.record import Record
from barnabas.storage.compaction.cleaning_job import CleanedSegment, CleaningJob, CleaningStopped, Uncleanable
from barnabas.storage.compaction.dirty_log import job_for, measure
from barnabas.storage.log import Appended
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.recovery import open_log
from tests.waiting import PATIENCE_SECONDS, until

NOW_MS = 1_700_000_000_000
UNLIMITED = float("inf")
SLOW = 1000.0  # a byte a millisecond: such a job never ends by itself


def dirty_job(directory: Path) -> CleaningJob:
    """Of a log with a thousand records of ten keys, in several segments."""
    directory.mkdir()
    disk = RealDisk()
    settings = LogSettings(segment_bytes=20_000)
    log, _ = open_log(
        disk, str(directory), TopicPartition("t", 0), settings, clean=False, recovery_point=0, log_start_offset=0, now_ms=NOW_MS
    )
    for number in range(1000):
        batch = memoryview(build_batch([Record(0, NOW_MS, b"key-%d" % (number % 10), b"value" * 10)]))
        assert isinstance(log.append(batch, read_header(batch), 0, NOW_MS), Appended)
    log.flush()
    job = job_for(log, measure(log, high_watermark=1000, now_ms=NOW_MS), map_bytes_max=1 << 20, now_ms=NOW_MS)
    log.abandon()
    return job


@pytest.fixture
def worker() -> Iterator[CleaningProcess]:
    process = CleaningProcess(UNLIMITED)
    yield process
    process.end()
    process.executor.shutdown()


def test_the_worker_answers_with_cleaned_segments_and_takes_the_next_job(worker: CleaningProcess, tmp_path: Path) -> None:
    for number in range(2):
        job = dirty_job(tmp_path / f"t-{number}")
        cleaned: list[CleanedSegment] = []
        result = worker.clean(job, cleaned.append)
        assert tuple(cleaned) == result.segments
        assert result.cleaned_to == job.end_offset
        assert result.stats.records_kept < 50
        assert list((tmp_path / f"t-{number}").glob("*.log.cleaned"))


def test_a_damaged_log_is_reported_as_uncleanable(worker: CleaningProcess, tmp_path: Path) -> None:
    job = dirty_job(tmp_path / "t-0")
    path = min((tmp_path / "t-0").glob("*.log"))
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(Uncleanable):
        worker.clean(job, lambda _: None)
    assert not list((tmp_path / "t-0").glob("*.cleaned"))


def test_files_that_are_gone_stop_the_cleaning(worker: CleaningProcess, tmp_path: Path) -> None:
    job = dirty_job(tmp_path / "t-0")
    min((tmp_path / "t-0").glob("*.log")).unlink()
    with pytest.raises(CleaningStopped):
        worker.clean(job, lambda _: None)


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_a_waiting_caller_learns_of_the_death_of_the_worker(how: str, tmp_path: Path) -> None:
    worker = CleaningProcess(SLOW)
    waiting = worker.executor.submit(worker.clean, dirty_job(tmp_path / "t-0"), lambda _: None)
    until(lambda: worker.pid is not None, "a child is there")
    if how == "killed":
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
    else:
        worker.end()
    with pytest.raises(WorkerDied):
        waiting.result(PATIENCE_SECONDS)
    assert worker.ended
    with pytest.raises(WorkerDied):
        worker.clean(dirty_job(tmp_path / "t-1"), lambda _: None)
    worker.executor.shutdown()


def test_a_new_pace_holds_for_the_job_under_way(tmp_path: Path) -> None:
    worker = CleaningProcess(SLOW)
    waiting = worker.executor.submit(worker.clean, dirty_job(tmp_path / "t-0"), lambda _: None)
    until(lambda: worker.pid is not None, "a child is there")
    assert not waiting.done()
    worker.pace(UNLIMITED)
    assert waiting.result(PATIENCE_SECONDS).segments
    worker.end()
    worker.executor.shutdown()


def test_the_worker_ends_with_its_parent(tmp_path: Path) -> None:
    program = (
        "import pickle, sys, threading\n"
        "from barnabas.logcare.cleaning_process import CleaningProcess\n"
        f"worker = CleaningProcess({SLOW})\n"
        "job = pickle.loads(bytes.fromhex(sys.stdin.readline()))\n"
        "threading.Thread(target=worker.clean, args=(job, lambda _: None), daemon=True).start()\n"
        "while worker.pid is None: pass\n"
        "print(worker.pid, flush=True)\n"
        "sys.stdin.readline()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(pickle.dumps(dirty_job(tmp_path / "t-0")).hex() + "\n")
        parent.stdin.flush()
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        parent.kill()
    until(lambda: not Path(f"/proc/{child}").exists(), "the child is gone")
