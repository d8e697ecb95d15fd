"""Ctrl-C and SIGTERM as requests to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.running.stop_signals import ignore_failures_while_stopping, stop_signals
from tests.waiting import PATIENCE_SECONDS

STUBBORN = """
import sys, threading, time
from barnabas.pipelines.running import stop_signals
stop_signals.SAME_REQUEST_SECONDS = 0.0
asked = threading.Event()
with stop_signals.stop_signals(asked):
    print("ready", flush=True)
    asked.wait()
    print("asked", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_two_signals_close_together_are_one_request(number: int) -> None:
    asked = threading.Event()
    before = signal.getsignal(number)
    with stop_signals(asked):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        assert asked.wait(PATIENCE_SECONDS)
    assert signal.getsignal(number) == before


def test_a_later_signal_ends_a_process_that_does_not_stop() -> None:
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.stdout.readline() == "asked\n"
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == -signal.SIGTERM


def fail(error: Exception) -> None:
    raise error


def test_failures_are_ignored_only_while_stopping() -> None:
    asked = threading.Event()
    with pytest.raises(RunFailed, match="a worker died"), ignore_failures_while_stopping(asked):
        fail(RunFailed("a worker died"))
    gone = r"Spark's process ended; \.barnabas/spark\.log may have the reason\."
    with pytest.raises(RunFailed, match=gone), ignore_failures_while_stopping(asked):
        fail(ConnectionRefusedError())
    asked.set()
    with ignore_failures_while_stopping(asked):
        fail(RunFailed("a worker died"))
    with ignore_failures_while_stopping(asked):
        fail(ConnectionRefusedError())
