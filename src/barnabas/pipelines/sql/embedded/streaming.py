"""A query that goes on answering, without Spark.

==========================================  ==================================================
the query                                   how a step answers
==========================================  ==================================================
one topic, each row by itself               the rows of the records since the last step
one topic, with GROUP BY, an aggregate or   the whole answer over all records since the start
DISTINCT
anything else                               not here: Spark keeps the state that it needs
==========================================  ==================================================

A step that answers over all records reads them again, so such a stream ends with an error when
they are more than the limits of the embedded engine. That is the price for having no state, and
for an answer that is right at each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.sql.embedded.answering import AUTO, answer
from barnabas.pipelines.sql.embedded.functions import AGGREGATES
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.topic_offsets import Bounds, TopicOffsets

if TYPE_CHECKING:
    from barnabas.pipelines.column_types import ColumnType
    from barnabas.pipelines.sql.inference import TableShape
    from barnabas.pipelines.sql.syntax import Statement

# How often a stream looks for new records.
STEP_SECONDS = 0.5
_NOT_HERE = (exp.Join, exp.Subquery, exp.With, exp.Window, exp.SetOperation, exp.Lateral)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StreamStep:
    columns: list[tuple[str, ColumnType]]
    rows: list[Row]
    is_whole: bool
    """Whether the rows are the whole answer, and take the place of those of the last step."""


class EmbeddedStream:
    """Raises ``CannotRun`` for a query that only Spark can go on answering."""

    def __init__(self, statement: Statement, offsets: TopicOffsets, shape: TableShape, starts: Mapping[int, int]) -> None:
        self._statement = statement
        self._is_whole = needs_all_records(statement)
        (self._topic,) = statement.topics
        self._offsets = offsets
        self._shape = shape
        self._starts = dict(starts)
        self._reached: dict[int, int] | None = None

    def step(self) -> StreamStep | None:
        """None if there are no new records. The first step always answers, so that the columns of
        an empty answer are known."""
        partitions = self._offsets.topics().get(self._topic)
        if partitions is None:
            raise CannotRun(f"Topic {self._topic!r} is deleted.")
        ends = {each: bound.end for each, bound in self._offsets.bounds(self._topic, partitions).items()}
        if ends == self._reached:
            return None
        begins = self._starts if self._is_whole or self._reached is None else self._reached
        # Partitions that were added meanwhile have only new records.
        ranges = {each: Bounds(min(begins.get(each, 0), end), end) for each, end in ends.items()}
        try:
            found = answer(self._statement, self._offsets, {self._topic: ranges}, {self._topic: self._shape}, limits=AUTO, limit=None)
            step = StreamStep(found.columns, list(found.rows), self._is_whole)
        except NotProven as error:
            raise CannotRun(f"The embedded engine cannot go on ({error}); Spark can: leave out --engine embedded.") from error
        self._reached = ends
        return step


def needs_all_records(statement: Statement) -> bool:
    """Whether a new record can change rows that were answered before. Raises ``CannotRun`` for
    queries that only Spark can go on answering."""
    tree = statement.tree
    if not isinstance(tree, exp.Select) or len(statement.topics) != 1 or len(list(tree.find_all(exp.Table))) != 1:
        raise CannotRun("Without Spark, a stream is a SELECT from one topic: leave out --engine embedded.")
    if tree.find(*_NOT_HERE) is not None:
        raise CannotRun("Without Spark, a stream has no joins, subqueries and windows: leave out --engine embedded.")
    grouped = any(tree.args.get(name) for name in ("group", "having", "distinct")) or _has_aggregate(tree)
    if not grouped and any(tree.args.get(name) for name in ("order", "limit", "offset")):
        raise CannotRun("A stream of rows has no end to order or to count from: leave out ORDER BY and LIMIT.")
    return grouped


def _has_aggregate(tree: exp.Select) -> bool:
    """The parser knows count alone, and leaves other names to the compiler."""
    if tree.find(exp.AggFunc) is not None:
        return True
    return any(str(each.this).lower() in AGGREGATES for each in tree.find_all(exp.Anonymous))


def changed_rows(before: Iterable[Row], now: list[Row]) -> list[Row]:
    """Rows that the last answer did not have. Values may be lists and maps, so rows are compared
    by their text."""
    known = Counter(map(repr, before))
    changed = []
    for row in now:
        text = repr(row)
        if known[text] > 0:
            known[text] -= 1
        else:
            changed.append(row)
    return changed
