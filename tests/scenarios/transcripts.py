"""Scenarios as text: a script goes in, a transcript comes out, and a file keeps both.

A file holds one scenario. Comments at its top say what it shows, then come commands, each with its
output beneath it:

    # The leader of epoch 1 is cut off, and the others elect another.
    cluster voters=1,2,3
    cut 1 | 2 3
        (four columns in: what the command led to)

Output that differs from the file fails the test. ``python -m tests.scenarios.rewrite`` performs the
scripts and writes down what happens; read the difference before you commit it. The idea is that of
etcd/raft's testdata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

INDENT = "    "
HOW_TO_ACCEPT = "if the difference is meant, run `python -m tests.scenarios.rewrite`"


class Stage:
    """Performs the commands of one scenario.

    A command is a method: ``add-voter 4 at=1`` calls ``do_add_voter(["4"], {"at": "1"})``.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def perform(self, command: str) -> list[str]:
        """The lines of output, without indentation."""
        verb, *rest = command.split()
        if verb == "quietly":
            self.perform(" ".join(rest))
            return []
        do = getattr(self, "do_" + verb.replace("-", "_"), None)
        if do is None:
            raise ValueError(f"there is no command {verb}")
        self._lines = []
        do([word for word in rest if "=" not in word], dict(word.split("=", 1) for word in rest if "=" in word))
        self.settle()
        return self._lines

    def settle(self) -> None:
        """Let everything happen that follows from a command by itself."""

    def say(self, line: str) -> None:
        self._lines.append(line)

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Output within this context does not go into the transcript."""
        lines, self._lines = self._lines, []
        yield
        self._lines = lines


class Scenes:
    """The scenarios of one folder."""

    def __init__(self, folder: Path, stage: Callable[[], Stage]) -> None:
        self.folder = folder
        self._stage = stage

    def __iter__(self) -> Iterator[Path]:
        return iter(sorted(self.folder.glob("*.txt")))

    def performed(self, file: Path) -> str:
        """The text of a file with the output that its commands have now."""
        stage = self._stage()
        lines: list[str] = []
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if line.startswith(INDENT):
                continue
            lines.append(line)
            if line and not line.startswith("#"):
                try:
                    lines += [INDENT + each for each in stage.perform(line)]
                except Exception as error:
                    error.add_note(f"at line {number} of {file.name}: {line}")
                    raise
        return "\n".join(lines) + "\n"

    def rewrite(self) -> list[Path]:
        """Accepts the current output; returns the files that changed."""
        changed = []
        for file in self:
            performed = self.performed(file)
            if performed != file.read_text():
                file.write_text(performed)
                changed.append(file)
        return changed
