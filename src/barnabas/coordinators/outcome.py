"""What one operation of a coordinator decided.

A decision is *records* and an *answer*. The records are written to the shard's log, all or none, and only then become the shard's
state, by being replayed into it; the answer leaves when they are committed. So what was answered is never lost, and what a new leader
reads is what was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer

R = TypeVar("R")


class ProducerIdentity(NamedTuple):
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    answer: Answer[R]
    """What to answer once the records are committed; a promise where that alone does not suffice (a join waits for the others)."""
    records: Sequence[CoordinatorRecord] = ()
    transaction: ProducerIdentity | None = None
    """Whose transaction the records belong to: they count when its end is replayed."""
    effects: Sequence[Any] = ()
    """Deeds for whoever runs the shard, to be done when the records are committed."""
    if_committed: Callable[[], object] | None = None
    """Answers others who waited for these records too (a leader's assignments are everybody's)."""
    if_refused: Callable[[ErrorCode], object] | None = None
    """Takes back what was already promised to others, when the records could not be written."""
