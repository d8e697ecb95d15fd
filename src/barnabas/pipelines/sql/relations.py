"""Finds the names of tables in a query, with Spark's own parser.

Walks over the parsed tree, before anything is looked up: relations at any place, in joins, in
subqueries of expressions, in common table expressions, whose own names are not tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.running.sentences import sentence_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RELATIONS = ("UnresolvedRelation", "UnresolvedTableOrView")
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"


@dataclass(frozen=True, slots=True)
class Relation:
    parts: tuple[str, ...]  # ``orders.eu`` has two, unless it is quoted
    start: int  # the position in the text, and that of its last character
    stop: int

    @property
    def name(self) -> str:
        return ".".join(self.parts)


def parse(session: SparkSession, query: str) -> Any:
    """Spark's parsed tree. ``CannotRun`` has the error in the text, and refuses statements that
    change something."""
    java: Any = session._jsparkSession  # noqa: SLF001 - PySpark shows no parser
    try:
        plan = java.sessionState().sqlParser().parsePlan(query)
    except Exception as error:  # py4j's or PySpark's, whichever detects it first
        if type(error).__module__.split(".")[0] not in ("py4j", "pyspark"):
            raise
        raise CannotRun(f"The query is not SQL that Spark understands: {_syntax_error(error)}") from error
    if _is(session, plan, f"{_LOGICAL}.ParsedStatement") or (
        _is(session, plan, f"{_LOGICAL}.Command") and _kind(plan) != "DescribeRelation"
    ):
        raise CannotRun("Only SELECT is supported: barnabas sql changes nothing.")
    return plan


def relations(plan: Any) -> list[Relation]:
    """In the order of the text; a relation that is named twice is there twice."""
    found = [each for each, hidden in _walk(plan, frozenset()) if each.name.lower() not in hidden]
    return sorted(found, key=lambda each: each.start)


def quote_dotted_names(query: str, found: list[Relation]) -> str:
    """``FROM orders.eu`` as ``FROM `orders.eu```: Spark would look for the table eu of a database
    called orders."""
    for each in sorted(found, key=lambda relation: relation.start, reverse=True):
        if len(each.parts) > 1:
            query = f"{query[: each.start]}`{each.name}`{query[each.stop + 1 :]}"
    return query


def _walk(plan: Any, hidden: frozenset[str]) -> Iterator[tuple[Relation, frozenset[str]]]:
    """Relations and the names that common table expressions around them have taken."""
    kind = _kind(plan)
    if kind in _RELATIONS:
        origin = plan.origin()
        parts = tuple(str(part) for part in _sequence(plan.multipartIdentifier()))
        yield Relation(parts, int(origin.startIndex().get()), int(origin.stopIndex().get())), hidden
    if kind == "UnresolvedWith":
        for each in _sequence(plan.cteRelations()):
            # A common table expression sees those before it as tables; the query after them sees
            # all of them.
            yield from _walk(each.productElement(1), hidden)
            hidden = hidden | {str(each.productElement(0)).lower()}
    for child in (*_sequence(plan.children()), *_sequence(plan.subqueries())):
        yield from _walk(child, hidden)


def _sequence(scala: Any) -> list[Any]:
    return [scala.apply(index) for index in range(scala.length())]


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _is(session: SparkSession, plan: Any, name: str) -> bool:
    jvm: Any = session._jvm  # noqa: SLF001
    return bool(jvm.java.lang.Class.forName(name, True, plan.getClass().getClassLoader()).isInstance(plan))


def _syntax_error(error: BaseException) -> str:
    sentence = sentence_of(error)
    if "INVALID_IDENTIFIER" in str(error):
        return f"{sentence} Names with dashes are written in `backquotes`."
    return sentence
