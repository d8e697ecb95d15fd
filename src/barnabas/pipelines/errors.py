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
