"""The findings of reading a declaration: its mistakes, all of them, and the fields that were asked
for.

A check reports a mistake and goes on with a placeholder, so that one reading finds every mistake.
The placeholders never leave the reading: :meth:`Findings.check` raises before the declaration is
returned. The questions are for the documentation: a test compares them with its tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from barnabas.pipelines.errors import DeclarationError


class Invalid:
    """In place of a value that could not be read. Its mistake is reported, so that no check
    complains about the value again."""

    def __repr__(self) -> str:
        return "an invalid value"


INVALID = Invalid()


@dataclass(frozen=True, slots=True)
class Question:
    """``field`` is the whole path: ``sources.payments.rate``."""

    field: str
    kind: str  # text, texts, whole number, flag, choice, duration, mapping, list or value
    default: Any = None
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class Findings:
    mistakes: list[DeclarationError] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def report(self, mistake: DeclarationError) -> None:
        self.mistakes.append(mistake)

    def withdraw(self, mistake: DeclarationError) -> None:
        """For a mistake that a later one explains better."""
        self.mistakes = [each for each in self.mistakes if each is not mistake]

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Reports a mistake that is raised inside. The rest of the block is skipped."""
        try:
            yield
        except DeclarationError as error:
            for mistake in error.all:
                self.report(mistake)

    def check(self) -> None:
        """Raises the mistakes, in the order of the file."""
        if self.mistakes:
            raise together(self.mistakes)


class FirstMistake(Findings):
    """Raises the first mistake at once: for callers that read a part of a declaration."""

    def report(self, mistake: DeclarationError) -> None:
        raise mistake


def together(mistakes: list[DeclarationError]) -> DeclarationError:
    """One error for all: its own text is that of the first in the file."""
    first, *others = sorted(mistakes, key=lambda each: (each.line, each.column or 0))
    return DeclarationError(first.path, first.line, first.sentence, column=first.column, field=first.field, others=tuple(others))
