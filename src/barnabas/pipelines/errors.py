"""The errors of pipelines: each is one sentence for the user.

PipelineError
├── DeclarationError    the file is invalid: the place, and the expected value
├── CannotRun           it cannot start here: no PySpark, no Java, no broker, no topic
├── SchemaTakenOver     a source's new columns were accepted: the run starts again with
│                       them (never shown)
└── RunFailed           it was running and ended by itself
    └── SchemaChanged   because a source's columns differ from the remembered ones:
                        where it is declared, and the changes
"""

from __future__ import annotations


class PipelineError(Exception):
    """The text is the whole message."""


class DeclarationError(PipelineError):
    """A mistake, and the ``others`` of the same reading. The text is that of the first."""

    def __init__(
        self,
        path: str,
        line: int,
        sentence: str,
        *,
        column: int | None = None,
        field: str = "",
        others: tuple[DeclarationError, ...] = (),
    ) -> None:
        more = ""
        if others:
            more = f" `barnabas pipelines validate {path}` shows {len(others)} more mistake{'s' * (len(others) > 1)}."
        super().__init__(f"{path}:{line}: {sentence}{more}")
        self.path = path
        self.line = line
        self.sentence = sentence
        self.column = column  # from 1; None where only the line is known
        self.field = field  # its path: ``sources.payments.schema``; empty for the whole file
        self._others = others

    @property
    def all(self) -> tuple[DeclarationError, ...]:
        """Every mistake as an error of its own, in the order of the file."""
        alone = DeclarationError(self.path, self.line, self.sentence, column=self.column, field=self.field)
        return (alone if self._others else self, *self._others)

    @property
    def located(self) -> str:
        """``alerts.yaml:4:5: sources.payments.shema: ...``: the form that editors and CI parse."""
        column = "" if self.column is None else f":{self.column}"
        field = f"{self.field}: " if self.field else ""
        return f"{self.path}:{self.line}{column}: {field}{self.sentence}"


class CannotRun(PipelineError):
    pass


class SchemaTakenOver(PipelineError):
    pass


class RunFailed(PipelineError):
    pass


class SchemaChanged(RunFailed):
    pass
