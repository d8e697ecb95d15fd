"""Ctrl-C and SIGTERM as a request for a clean end.

The signal rarely comes alone. ``timeout`` signals its child and then the child's whole group,
systemd signals every process of the unit: the driver may get it twice, Spark's JVM and its Python
workers get it too. So the second signal of one request does not count, the JVM ignores SIGTERM once
it runs (:mod:`barnabas.pipelines.session`), and failures that follow from the end of other
processes count as part of the end.

A requested end is a success: the exit code is 0 and stderr stays empty, for Ctrl-C as for SIGTERM.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.pipelines.errors import PipelineError, RunFailed
from barnabas.pipelines.session import jvm_gone, log_name

# Signals this close together are one request. A second Ctrl-C by an impatient user comes later than
# this.
SAME_REQUEST_SECONDS = 2.0
# A process of ours may fail visibly before the signal that ended it reaches this one.
SIGNAL_SECONDS_MAX = 0.5


@contextmanager
def stop_signals(asked: threading.Event) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM sets ``asked``; a later one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can have handlers; a program that runs pipelines in another thread
        # stops them in another way.
        yield
        return
    first: float | None = None

    def ask(number: int, _: object) -> None:
        nonlocal first
        if first is None:
            first = time.monotonic()
            # In a thread: the handler runs in the main thread, which may be inside a method of this
            # event and hold its lock.
            threading.Thread(target=asked.set, daemon=True).start()
        elif time.monotonic() - first >= SAME_REQUEST_SECONDS:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignore_failures_while_stopping(asked: threading.Event) -> Iterator[None]:
    """The same signal may have ended the process at the other end of a call."""
    try:
        yield
    except PipelineError:
        if not asked.wait(SIGNAL_SECONDS_MAX):
            raise
    except jvm_gone() as gone:
        if not asked.wait(SIGNAL_SECONDS_MAX):
            raise RunFailed(f"Spark's process ended; {log_name()} may have the reason.") from gone
