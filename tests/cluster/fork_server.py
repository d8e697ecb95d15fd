"""Forks ``barnabas`` processes from an interpreter that has imported all of a node.

``python -m tests.cluster.fork_server FD`` reads requests from a socket until its other end is
closed; see :mod:`~tests.cluster.forked_command` for that end. A request is the words of a command,
the working directory and the environment, and comes with three descriptors: one for the output, a
pipe for the process id and later for the exit code, and a pipe whose end lets the command begin.

Each command has a minder as its parent, a fork of this process that waits for its end. The kernel
kills a command when its minder ends, and a minder when this process ends, so no node outlives a
test run that was killed.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
from typing import NoReturn, TypedDict

# The command that is forked imports it, and finds it imported.
import barnabas.cli.server  # noqa: F401
from barnabas.cli.main import main

REQUEST_BYTES_MAX = 1 << 20
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Request(TypedDict):
    words: list[str]
    directory: str
    environment: dict[str, str]


def serve(requests: socket.socket) -> None:
    # The kernel reaps the minders.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES_MAX, 3)
        if not request:
            return
        if _fork() == 0:
            requests.close()
            _mind(json.loads(request), *descriptors)
        for each in descriptors:
            os.close(each)


def _mind(request: Request, output: int, status: int, go: int) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = _fork()
    if command == 0:
        os.close(status)
        os.read(go, 1)
        os.close(go)
        _become(request, output)
    os.close(output)
    os.close(go)
    os.write(status, f"{command}\n".encode())
    _, ended = os.waitpid(command, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def _become(request: Request, output: int) -> NoReturn:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(output)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["barnabas", *request["words"]]
    code = 1
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    except BaseException:  # noqa: BLE001 - the outermost frame of a process
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _fork() -> int:
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    return child


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
