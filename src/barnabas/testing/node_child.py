"""A node in a child process, which can be killed. See :mod:`node_process` for the other side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Any

from barnabas.model.cannot_start import CannotStart
from barnabas.testing.faults.fault_count import FaultCount
from barnabas.testing.faults.fault_rule import FaultRule

# A child that ends is noticed at once; only one that gets no processor time needs so long.
START_SECONDS_MAX = 180.0
STOP_SECONDS_MAX = 60.0
_REPLY_SECONDS_MAX = 60.0
# The last lines that a child wrote to stderr; bounded, since a child may write for ever.
COMPLAINT_LINES_MAX = 1000


class NodeChild:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._process: subprocess.Popen[str]
        self._complaints: deque[str] = deque(maxlen=COMPLAINT_LINES_MAX)
        self._replies: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._readers: list[threading.Thread] = []
        self._paused = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "barnabas.testing.node_start"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Ctrl-C goes to the test, which then stops its brokers.
            start_new_session=True,
        )
        # Drain its stderr: a full pipe would stop the child.
        for read, stream in ((self._read_replies, self._process.stdout), (self._read_complaints, self._process.stderr)):
            reader = threading.Thread(target=read, args=(stream,), daemon=True)
            reader.start()
            self._readers.append(reader)
        self._write(self._properties)

    def await_ready(self) -> str:
        """The bootstrap address. Raises ``CannotStart`` with the reason of a node that could not
        start."""
        end = "the broker's process ended before it was ready."
        try:
            reply = self._replies.get(timeout=START_SECONDS_MAX)
        except Empty:
            reply, end = None, f"the broker was not ready within {START_SECONDS_MAX:g} seconds."
        if reply is not None and "bootstrap" in reply:
            bootstrap: str = reply["bootstrap"]
            return bootstrap
        self.kill()
        if reply is not None:
            raise CannotStart(reply["error"])
        raise CannotStart(self.complaints().strip() or end)

    def ask_to_stop(self) -> None:
        self.resume()
        self._process.send_signal(signal.SIGTERM)

    def await_end(self) -> None:
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._reap()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reap()

    def complaints(self) -> str:
        return "".join(self._complaints)

    # -- faults

    def pause(self) -> None:
        """Returns once the process has stopped: until then it could still answer a request."""
        self._paused = True
        self._process.send_signal(signal.SIGSTOP)
        # WNOWAIT leaves an exit code to Popen, in case the process ended meanwhile.
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._process.send_signal(signal.SIGCONT)

    def set_fault(self, rule: FaultRule, count: FaultCount) -> None:
        """The child counts by itself; ``count`` is for brokers in threads."""
        self._ask({"do": "set", "rule": rule.to_json()})

    def undo_fault(self, fault_id: int) -> None:
        self._ask({"do": "undo", "fault_id": fault_id})

    def used(self, fault_id: int) -> int:
        used: int = self._ask({"do": "used", "fault_id": fault_id}).get("used", 0)
        return used

    def cut(self) -> None:
        self._ask({"do": "cut"})

    def reconnect(self) -> None:
        self._ask({"do": "reconnect"})

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        if self._paused:
            raise RuntimeError("the broker is paused and takes no fault; resume it first")
        self._write(command)
        try:
            reply = self._replies.get(timeout=_REPLY_SECONDS_MAX)
        except Empty:
            raise TimeoutError(f"the broker did not take the fault within {_REPLY_SECONDS_MAX:g} seconds.") from None
        # None: the process has ended, and its faults with it.
        if reply is None:
            self._replies.put(None)
            return {}
        return reply

    # -- the pipes

    def _write(self, value: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended; its readers notice
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()

    def _read_replies(self, stream: IO[str]) -> None:
        for line in stream:
            self._replies.put(json.loads(line))
        self._replies.put(None)

    def _read_complaints(self, stream: IO[str]) -> None:
        for line in stream:
            self._complaints.append(line)

    def _reap(self) -> None:
        for reader in self._readers:
            reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
