"""Finds the error codes in a response, wherever its declaration has them.

A response may have one error code for itself, or one for each topic, group or partition in it. The
search runs for every response that a handler makes, so it is compiled for each type of response:
loops over the lists that can contain an ``error_code``, and nothing else. For a Fetch of one
partition it takes about 0.3 % of the processor time of the request. Elements that are encoded
already carry their error codes with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from barnabas.wire.declare import ArrayOf, StructOf, declaration_of
from barnabas.wire.types import EncodedElements

ERROR_FIELD = "error_code"

# Calls its second argument with each error code of the response that is not NONE.
ErrorSearch: TypeAlias = Callable[[Any, Callable[[int], None]], None]


def error_search(response: type[Any]) -> ErrorSearch | None:
    """None for a response that has no error codes."""
    lines = list(_lines(response, "response", 1))
    if not lines:
        return None
    scope: dict[str, Any] = {"EncodedElements": EncodedElements}
    source = "\n".join(["def search(response, found):", *lines])
    exec(compile(source, f"<errors of {response.__name__}>", "exec"), scope)  # noqa: S102
    made: ErrorSearch = scope["search"]
    return made


def _lines(cls: type[Any], name: str, depth: int) -> Iterator[str]:
    indent = "    " * depth
    for field in declaration_of(cls).fields:
        if field.name == ERROR_FIELD:
            yield f"{indent}if {name}.{ERROR_FIELD}: found({name}.{ERROR_FIELD})"
        elif isinstance(field.type, ArrayOf) and isinstance(field.type.element, StructOf):
            inner = list(_lines(field.type.element.cls, f"each_{depth}", depth + 1))
            if inner:
                elements = f"{name}.{field.name}"
                if field.options.encodable:
                    yield f"{indent}list_{depth} = {elements}"
                    yield f"{indent}if type(list_{depth}) is EncodedElements:"
                    yield f"{indent}    for code in list_{depth}.error_codes: found(code)"
                    yield f"{indent}    list_{depth} = ()"
                    elements = f"list_{depth}"
                # A list may be null.
                yield f"{indent}for each_{depth} in {elements} or ():"
                yield from inner
        elif isinstance(field.type, StructOf):
            inner = list(_lines(field.type.cls, f"struct_{depth}", depth + 1))
            if inner:
                yield f"{indent}struct_{depth} = {name}.{field.name}"
                yield f"{indent}if struct_{depth} is not None:"
                yield from inner
