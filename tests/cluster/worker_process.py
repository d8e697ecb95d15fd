"""A worker in a process of its own, which is started again when its client library aborts it.

librdkafka checks its state with assertions, and a failed one aborts the whole process (see
:mod:`tests.cluster.passers` for one). A supervisor would restart such an application, and so does
this module. It excuses nothing else: all acknowledgements that the process reported count, its last
values are of unknown outcome, and every other end of a process fails the test.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from peers.cluster import ends_with_us
from tests.cluster.history import Journal, Key
from tests.cluster.worker_report import ReportReader
from tests.cluster.workers import MESSAGE_TIMEOUT_MS, Worker

# glibc's words for a failed assertion, and librdkafka's own for a failed check.
_ASSERTION = re.compile(r"^.*\brdkafka\w*\.[ch]:.*\bassert.*$", re.MULTILINE | re.IGNORECASE)
_TAIL_CHARACTERS = 4000
_STACKS_SECONDS = 0.2


class WorkerProcess:
    """``numbers`` are shared by all processes that write to the same partitions. The stderr of each
    process is a file in ``evidence``, and ``aborts`` gets the words with which its client library
    aborted it."""

    def __init__(
        self,
        kind: type[Worker],
        name: str,
        journal: Journal,
        keys: Sequence[Key],
        *,
        settings: Mapping[str, Any],
        seed: int,
        evidence: Path,
        numbers: Iterator[int],
        aborts: list[str],
    ) -> None:
        self.name = name
        self._kind = kind
        self._assignment = {
            "kind": f"{kind.__module__}:{kind.__qualname__}",
            "name": name,
            "settings": dict(settings),
            "keys": [list(key) for key in keys],
            "seed": seed,
        }
        self._journal = journal
        self._evidence = evidence
        self._numbers = numbers
        self._aborts = aborts
        # The test has failed, so requests in flight are dropped.
        self.abandoned = False
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self._stopping = False
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        # One thread starts and reads all processes of this worker. It outlives them, because the
        # kernel ends a process with the thread that started it.
        self._supervisor = threading.Thread(target=self._supervise, name=name, daemon=True)

    def start(self) -> None:
        self._supervisor.start()

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
            if self._process is not None:
                self._end(self._process)

    def join(self) -> None:
        self._supervisor.join(MESSAGE_TIMEOUT_MS / 1000 + 30)
        assert not self._supervisor.is_alive(), f"{self.name} does not come to an end: {self.whereabouts()}"
        if self._failure is not None:
            raise self._failure

    def whereabouts(self) -> str:
        """The end of its stderr, with the stacks of its threads if it is running."""
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGUSR1)
            time.sleep(_STACKS_SECONDS)
        return f"{self.name}: {self._words()}"

    def _supervise(self) -> None:
        try:
            for life in count(1):
                code = self._live(life)
                if self.abandoned or (code == 0 and self._stopping):
                    return
                self._excuse(code)
                if self._stopping:
                    return
        except BaseException as failure:  # noqa: BLE001 - handed to the thread that joins
            self._failure = failure
            self._journal.complain(f"{self.name}: {failure!r}")

    def _live(self, life: int) -> int:
        """One process from its start to its exit code. Each has a name of its own in the journal:
        requests of a dead process may still arrive after the first ones of the next."""
        process_name = self.name if life == 1 else f"{self.name}/{life}"
        assignment = {**self._assignment, "number": next(self._numbers)}
        command = [sys.executable, "-m", "tests.cluster.worker_program", json.dumps(assignment)]
        self._log = self._evidence / f"{self.name}-{assignment['number']:03}.log"
        with self._log.open("wb") as errors:
            process = subprocess.Popen(ends_with_us(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        with self._lock:
            self._process = process
            if self._stopping:
                self._end(process)
        report = ReportReader(process_name, self._journal, transactional=self._kind.transactional)
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                report.read(line)
        report.end()
        return process.returncode

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if self.abandoned:
            process.kill()
        elif process.stdin is not None:
            process.stdin.close()

    def _excuse(self, code: int) -> None:
        words = self._words()
        assertion = _ASSERTION.search(words)
        assert code == -signal.SIGABRT, f"{self.name} ended with {code}: {words}"
        assert assertion is not None, f"{self.name} aborted, and not by its client: {words}"
        self._aborts.append(f"{self.name}: {assertion.group().strip()}")

    def _words(self) -> str:
        return self._log.read_text(errors="replace")[-_TAIL_CHARACTERS:] if self._log is not None else ""
