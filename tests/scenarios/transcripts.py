"""Scenarios as text: a script goes in, a transcript comes out, and a file keeps both.

A file holds one scenario. Comments at its top say what it shows, then come commands, each with its output beneath it:

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
from pathlib import Path
from typing import Protocol

INDENT = "    "
HOW_TO_ACCEPT = "if the difference is meant, run `python -m tests.scenarios.rewrite`"


class Stage(Protocol):
    """What performs the commands of one scenario, and knows their language."""

    def perform(self, command: str) -> list[str]:
        """Lines of output, without indentation."""
        ...


class Scenes:
    """The scenarios of one folder."""

    def __init__(self, folder: Path, stage: Callable[[], Stage]) -> None:
        self.folder = folder
        self._stage = stage

    def __iter__(self) -> Iterator[Path]:
        return iter(sorted(self.folder.glob("*.txt")))

    def performed(self, text: str) -> str:
        """The text with the output of its commands as it is now. Comments and commands stay."""
        stage = self._stage()
        lines: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith(INDENT):
                continue
            lines.append(line)
            if line and not line.startswith("#"):
                try:
                    lines += [INDENT + each for each in stage.perform(line)]
                except Exception as error:
                    error.add_note(f"at line {number}: {line}")
                    raise
        return "\n".join(lines) + "\n"

    def rewrite(self) -> list[Path]:
        """Accept what happens now; the files that changed."""
        changed = []
        for file in self:
            text = file.read_text()
            performed = self.performed(text)
            if performed != text:
                file.write_text(performed)
                changed.append(file)
        return changed


def words_and_options(command: str) -> tuple[str, list[str], dict[str, str]]:
    """``append 1 a acks=1`` is the verb ``append``, the words ``1 a`` and the option ``acks``."""
    verb, *rest = command.split()
    options = dict(word.split("=", 1) for word in rest if "=" in word)
    return verb, [word for word in rest if "=" not in word], options
