"""What a person is told when a pipeline cannot do what it was asked: one sentence.

PipelineError
├── DeclarationError    the file is wrong: where, and what was expected
├── CannotRun           it cannot be started here: no PySpark, no Java, no broker, no topic
└── RunFailed           it was running and ended by itself
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


class RunFailed(PipelineError):
    pass
