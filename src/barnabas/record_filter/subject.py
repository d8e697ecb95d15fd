"""The fields of a record that a filter can name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Step = str | int


class Subject(Protocol):
    """A record. Decoding is up to the implementation; None stands for bytes that cannot be decoded,
    so that every path in them is missing."""

    @property
    def topic(self) -> str: ...

    @property
    def partition(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def timestamp(self) -> int: ...

    def key_text(self) -> str | None: ...

    def value_text(self) -> str | None: ...

    def key(self) -> Any: ...

    def value(self) -> Any: ...

    def header(self, name: str) -> str | None:
        """The last header of that name, as in Kafka's ``lastHeader``."""

    def has_headers(self) -> bool: ...


def walk(found: Any, steps: Sequence[Step]) -> Any:
    """None where a step leads nowhere."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(found, dict):
                return None
            found = found.get(step)
        else:
            if not isinstance(found, list) or not -len(found) <= step < len(found):
                return None
            found = found[step]
    return found
