"""Names of subjects, and the contexts they stand in.

A subject is ``name`` in the default context, and ``:.context:name`` in another one. Ids are unique
within a context. ``:.context:`` alone stands for the context itself, in settings for example.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_CONTEXT: Final = "."
# Settings under this name hold for all contexts.
GLOBAL_CONTEXT: Final = ".__GLOBAL"
# Reserved by Confluent's registry.
_RESERVED: Final = frozenset({"__GLOBAL", "__EMPTY"})
SUBJECT_CHARACTERS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    context: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Subject:
        if text.startswith(":."):
            context, _, name = text[1:].partition(":")
            return cls(context, name)
        return cls(DEFAULT_CONTEXT, text)

    @property
    def text(self) -> str:
        """``:.:name`` and ``name`` are the same subject, which has one text."""
        return self.name if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.name}"

    @property
    def is_reserved(self) -> bool:
        """Whether this names a context, or all subjects, and so no subject itself."""
        return not self.name or self.name in _RESERVED

    @property
    def context_text(self) -> str:
        """The name of the context alone, as settings are stored under it; empty for the default."""
        return "" if self.context == DEFAULT_CONTEXT else f":{self.context}:"

    def within(self, parent: Subject) -> Subject:
        """A subject that names no context stands in that of the schema which refers to it."""
        return Subject(parent.context, self.name) if self.context == DEFAULT_CONTEXT else self


def normalized(text: str) -> str:
    return Subject.parse(text).text


def is_valid(text: str) -> bool:
    subject = Subject.parse(text)
    plain = not any(character < " " or character == "\x7f" for character in text)
    return 0 < len(text) <= SUBJECT_CHARACTERS_MAX and plain and not subject.is_reserved
