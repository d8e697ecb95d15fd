"""Reads from Spark's plan how far back a query looks.

Once Spark has optimised a query, a condition on ``_timestamp`` is directly above the scan of its
topic, and ``now() - INTERVAL 1 HOUR`` in it is evaluated. Kafka can find the first record at or
after a time, so the scan need not start at the beginning. Any condition other than a comparison
with a time is left to Spark, which filters in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_NEWER = ("GreaterThan", "GreaterThanOrEqual")
_OLDER = ("LessThan", "LessThanOrEqual")
_EVER = -1
# Nodes of a function in Python over batches of Arrow, in the versions of Spark.
_DECODING = ("MapInArrow", "PythonMapInArrow")


def oldest_ms(plan: Any, topic: str) -> int | None:
    """The query needs no record of the topic older than this, in milliseconds since 1970. None: it
    may need all."""
    moments = [moment for scanned, moment in _scans(plan) if f"Subscribe[{topic}]" in scanned]
    return min(moments) if moments and min(moments) != _EVER else None


def _scans(plan: Any) -> Iterator[tuple[str, int]]:
    """Each scan's description, and the oldest time that it must return."""
    for each in _sequence(plan.subqueries()):
        yield from _scans(each)
    children = _sequence(plan.children())
    scan = _scan_below(children[0]) if _kind(plan) == "Filter" else None
    if scan is not None:
        moments = [moment for conjunct in _conjuncts(plan.condition()) if (moment := _moment(conjunct)) is not None]
        yield str(scan.relation().toString()), max(moments, default=_EVER)
        return
    if _kind(plan) == "LogicalRelation":
        yield str(plan.relation().toString()), _EVER
    for child in children:
        yield from _scans(child)


def _scan_below(plan: Any) -> Any | None:
    """The scan, directly or below the decoding of registered values, which passes the timestamp
    on."""
    if _kind(plan) in _DECODING:
        plan = _sequence(plan.children())[0]
        while _kind(plan) == "Project":
            plan = _sequence(plan.children())[0]
    return plan if _kind(plan) == "LogicalRelation" else None


def _conjuncts(condition: Any) -> Iterator[Any]:
    if _kind(condition) == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition


def _moment(condition: Any) -> int | None:
    kind = _kind(condition)
    if kind in _NEWER:
        column, literal = condition.left(), condition.right()
    elif kind in _OLDER:
        column, literal = condition.right(), condition.left()
    else:
        return None
    if _kind(column) != "AttributeReference" or column.name() != "timestamp" or _kind(literal) != "Literal":
        return None
    return None if literal.dataType().simpleString() != "timestamp" else int(literal.value()) // 1000


def _sequence(scala: Any) -> list[Any]:
    return [scala.apply(index) for index in range(scala.length())]


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())
