"""Runs ``barnabas`` the way a user does, and checks how it refuses.

Most tests call its ``main`` in this process: the same entry point, without the third of a second
that an interpreter takes to start. Tests of the process itself (pipes, signals, terminals) start
one.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from barnabas.cli.main import main


class Finished(NamedTuple):
    code: int
    out: bytes
    err: str

    def worked(self) -> Finished:
        assert (self.code, self.err) == (0, ""), self
        return self

    @property
    def text(self) -> str:
        """The output of a command that succeeded."""
        return self.worked().out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table without its header. Two or more spaces separate cells."""
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in self.text.splitlines()[1:]]

    @property
    def complaint(self) -> str:
        """The one sentence of a command that refused."""
        assert self.code == 1, self
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("barnabas: "), self.err
        assert self.err.endswith((".\n", "!\n", "?\n")), self.err
        return self.err.removeprefix("barnabas: ").rstrip("\n")


class Cli:
    """``barnabas``, with the address of a cluster."""

    def __init__(self, bootstrap: str | None = None) -> None:
        self.environment = {} if bootstrap is None else {"BARNABAS_BOOTSTRAP": bootstrap}

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Finished:
        words = [str(each) for each in arguments]
        with _streams(stdin) as (out, err), _environment(self.environment):
            previous, sys.argv = sys.argv, ["barnabas", *words]
            try:
                main()
            except SystemExit as stopped:
                code = stopped.code
            finally:
                sys.argv = previous
                sys.stdout.flush()
                sys.stderr.flush()
        assert isinstance(code, int), code
        return Finished(code, out.getvalue(), err.getvalue().decode())

    def process(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        """A real process, for tests that send signals or close pipes."""
        command = [sys.executable, "-m", "barnabas", *(str(each) for each in arguments)]
        environment = {**os.environ, **self.environment}
        # A shell that runs the tests in the background makes them ignore ctrl-c, and child
        # processes inherit that.
        inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **options)
        finally:
            signal.signal(signal.SIGINT, inherited)


@contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    out, err = io.BytesIO(), io.BytesIO()
    previous = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    sys.stdout, sys.stderr = io.TextIOWrapper(out, encoding="utf-8"), io.TextIOWrapper(err, encoding="utf-8")
    replaced = sys.stdin, sys.stdout, sys.stderr
    try:
        yield out, err
    finally:
        for each in replaced[1:]:
            each.flush()
        sys.stdin, sys.stdout, sys.stderr = previous
        for each in replaced:
            each.detach()


@contextmanager
def _environment(more: dict[str, str]) -> Iterator[None]:
    previous = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
