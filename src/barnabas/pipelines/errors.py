"""What a person is told when a pipeline cannot do what it was asked: one sentence.

PipelineError
├── DeclarationError    the file is wrong: where, and what was expected
├── CannotRun           it cannot be started here: no PySpark, no Java, no broker, no topic
├── SchemaTakenOver     a source's new columns were accepted: the run begins again with them (never shown)
└── RunFailed           it was running and ended by itself
    └── SchemaChanged   because a source has other columns than the pipeline remembers: where it is declared, and what changed
"""

from __future__ import annotations


class PipelineError(Exception):
    """The text is the whole message."""


class DeclarationError(PipelineError):
    def __init__(self, path: str, line: int, sentence: str) -> None:
        super().__init__(f"{path}:{line}: {sentence}")
        self.path = path
        self.line = line
        self.sentence = sentence


class CannotRun(PipelineError):
    pass


class SchemaTakenOver(PipelineError):
    pass


class RunFailed(PipelineError):
    pass


class SchemaChanged(RunFailed):
    pass
