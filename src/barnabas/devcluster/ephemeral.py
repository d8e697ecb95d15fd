"""A cluster that ends with the program that started it, and leaves nothing behind.

For the tests of other languages: the test starts ``barnabas up --ephemeral``, and may crash before
it can stop it. :class:`EphemeralDirectory` is removed however the process ends, SIGKILL included.
:func:`end_with_parent` stops the process when its parent is gone.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType

STDIN = 0
# Short for a person who looks for leftovers, and no work for the processor.
_PARENT_SECONDS = 0.2
# It waits until its input ends, which is when this process has ended. Nodes of a killed process
# write for some seconds more, so the directory is removed again.
_REMOVAL = 'read -r _; rm -rf -- "$0"; sleep 10; rm -rf -- "$0"'


class EphemeralDirectory:
    """A new directory that is removed at the end, by this process or by the one that guards it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="barnabas-"))
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Path:
        try:
            self._guard = subprocess.Popen(  # noqa: S603 - our own script, and a path that we made
                ["/bin/sh", "-c", _REMOVAL, str(self.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Signals for the group of this process must not end the guard before it.
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            self._guard = None  # without a shell, only SIGKILL leaves the directory behind
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()


def end_with_parent() -> None:
    """Send SIGTERM to this process when its parent has ended, or when a pipe at its standard input
    is closed.

    Only a pipe counts: many programs start others with an input that has ended already. The parent
    is looked at from time to time, because PR_SET_PDEATHSIG is about the thread that started the
    process, and test runners start it from threads that end.
    """
    threading.Thread(target=_watch, args=(os.getppid(),), name="parent-watch", daemon=True).start()


def _watch(parent: int) -> None:
    watched = [STDIN] if _is_pipe(STDIN) else []
    while os.getppid() == parent:
        readable, _, _ = select.select(watched, [], [], _PARENT_SECONDS)
        if readable and not _read(STDIN):
            break
    os.kill(os.getpid(), signal.SIGTERM)


def _is_pipe(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
