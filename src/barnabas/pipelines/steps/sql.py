"""SQL over the names of sources and earlier steps: ``{view: large, sql: "SELECT * FROM payments
WHERE amount > 100"}``.

Windows, joins and aggregations are Spark's SQL. The inputs of a query are found by the words after
FROM and JOIN, which is enough to report a misspelt name with its line before Spark is started;
Spark itself interprets the query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration

_NOISE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NAME = r"`?([A-Za-z_]\w*)`?"
_COMMON_TABLE = re.compile(rf"(?:\bWITH\s+(?:RECURSIVE\s+)?|,\s*){_NAME}\s*(?:\([^()]*\)\s*)?AS\s*\(", re.IGNORECASE)
# ``FROM`` occurs in other places too (``EXTRACT(day FROM at)``, ``TRIM(BOTH 'x' FROM y)``, ``IS
# DISTINCT FROM``): remove those first.
_FROM_OF_OTHERS = re.compile(r"\b(?:EXTRACT|TRIM|SUBSTRING|SUBSTR|OVERLAY|POSITION)\s*\([^()]*\)|\bDISTINCT\s+FROM\b", re.IGNORECASE)
# A name with a dot is a table of a catalogue, and one with a parenthesis is a table function.
_TABLE = re.compile(rf"\b(?:FROM|JOIN)\s+{_NAME}(?![\w`]*\s*[.(])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SqlSettings:
    query: str


def declare(fields: Fields) -> SqlSettings:
    return SqlSettings(fields.text("sql").rstrip(";"))


def inputs(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, SqlSettings)
    return tables(settings.query)


def apply(declaration: StepDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, SqlSettings)
    return context.session.sql(settings.query)


def check_alone(declaration: StepDeclaration, context: RunContext) -> None:
    """The syntax, where the inputs are invalid."""
    settings = declaration.settings
    assert isinstance(settings, SqlSettings)
    parser: Any = context.session._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - PySpark has no parser of its own
    parser.parsePlan(settings.query)


def tables(query: str) -> tuple[str, ...]:
    words = _FROM_OF_OTHERS.sub(" ", _NOISE.sub("''", query))
    own = {name.lower() for name in _COMMON_TABLE.findall(words)}
    found = (match[1] for match in _TABLE.finditer(words))
    return tuple(dict.fromkeys(name for name in found if name.lower() not in own))
