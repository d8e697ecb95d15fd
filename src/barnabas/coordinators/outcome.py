"""The decision of one operation of a coordinator.

A decision is *records* and an *answer*. The records are written to the shard's log, all or none,
and are then replayed into the shard's state. The answer is sent when they are committed. So an
answer is never lost, and a new leader reads the state that was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer

R = TypeVar("R")


class ProducerIdentity(NamedTuple):
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    answer: Answer[R]
    """Sent once the records are committed; a promise if it must also wait for something else, as a
    join waits for other members.
    """
    records: Sequence[CoordinatorRecord] = ()
    transaction: ProducerIdentity | None = None
    """The transaction of the records: they count when its end is replayed."""
    effects: Sequence[Any] = ()
    """Actions for the driver of the shard, performed when the records are committed."""
    if_committed: Callable[[], object] | None = None
    """Answers other requests that wait for these records, such as the syncs that wait for the
    leader's assignments.
    """
    if_refused: Callable[[ErrorCode], object] | None = None
    """Takes back promises to other members when the records could not be written."""
