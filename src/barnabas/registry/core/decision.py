"""What an operation decides: records to write, and an answer that holds once they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from barnabas.registry.core.entries import Entry

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Decision(Generic[R]):
    answer: R
    entries: Sequence[Entry] = ()
