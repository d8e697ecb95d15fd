"""Whether an object or array may contain more than its schema names, and the schema of the rest.

A content model is *open* if anything may be added, *closed* if nothing may, and *partially open* if
a schema describes what may be added.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

from barnabas.schemas.json_schema.model import Anything, Array, Node, Nothing, Object

# Compiling an expression takes about 50 times as long as matching it with a name.
EXPRESSIONS_KEPT_MAX: Final = 1_000


def has_open_properties(schema: Object) -> bool:
    return schema.permits_more and schema.more is None and not schema.patterns and _is_open(schema.unevaluated)


def covering_property(schema: Object, name: str) -> Node | None:
    """The schema that a property of this name has although ``properties`` does not name it."""
    for pattern, node in schema.patterns.items():
        if _found(pattern, name):
            return node
    return _rest(schema)


def has_open_items(schema: Array) -> bool:
    return schema.permits_more and schema.more is None and _is_open(schema.unevaluated)


def covering_item(schema: Array) -> Node | None:
    return _rest(schema)


def _rest(schema: Object | Array) -> Node | None:
    if schema.more is not None:
        return schema.more
    partial = schema.permits_more and not isinstance(schema.unevaluated, Nothing) and not _is_open(schema.unevaluated)
    return schema.unevaluated if partial else None


def _is_open(unevaluated: Node | None) -> bool:
    return unevaluated is None or isinstance(unevaluated, Anything)


def _found(pattern: str, name: str) -> bool:
    """RE2 matches in linear time. A pattern that it does not know, with a look-ahead for example,
    covers nothing, which at worst calls a change incompatible.
    """
    expression = _compiled(pattern)
    return expression is not None and expression.search(name) is not None


@lru_cache(EXPRESSIONS_KEPT_MAX)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None
