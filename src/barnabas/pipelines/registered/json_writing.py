"""Rows of Arrow as values of JSON: the way back of :mod:`.json_columns`.

Times, decimals and bytes are texts. A null is written where the schema takes one, and left out
where it does not: a property that is not required may be missing, and need not take null.
"""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from barnabas.pipelines.registered.converting import Converter
from barnabas.schemas.json_schema import model as json_schema
from barnabas.schemas.json_schema.model import Node

_DEPTH_MAX: Final = 100


def converter_of(root: Node) -> Converter:
    if _properties(root):
        return lambda row: _value(row, root)
    return lambda row: _value(row["value"], root)


def _value(value: Any, node: Node | None) -> Any:
    """``node`` is what the schema says of the value; None where it says nothing."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return _text(value, node)
        case dict():
            return _object(value, node)
        case list() if value and isinstance(value[0], tuple):
            return {str(name): _value(each, _more(node)) for name, each in value}
        case list():
            items = _items(node)
            if not value and items is None and _more(node) is not None:
                return {}
            return [_value(each, items) for each in value]
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value.tzinfo is not None else value.isoformat()
        case date():
            return value.isoformat()
        case bytes():
            return b64encode(value).decode()
        case Decimal():
            return str(value)
        case _:
            return str(value)


def _object(value: dict[str, Any], node: Node | None) -> dict[str, Any]:
    properties = _properties(node)
    return {
        name: _value(each, properties.get(name)) for name, each in value.items() if each is not None or _takes_null(properties.get(name))
    }


def _text(value: str, node: Node | None) -> Any:
    """A column of text may hold the JSON of a value that has no column of its own."""
    if node is None or not value.startswith(("{", "[")) or _is_text(node):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _is_text(node: Node) -> bool:
    return any(isinstance(each, json_schema.Text) for each in _alternatives(node))


def _takes_null(node: Node | None) -> bool:
    if node is None:
        return True
    return any(
        isinstance(each, json_schema.Null | json_schema.Anything) or (isinstance(each, json_schema.Enumeration) and None in each.values)
        for each in _alternatives(node)
    )


def _properties(node: Node | None) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for each in _alternatives(node):
        if isinstance(each, json_schema.Object):
            found |= each.properties
    return found


def _more(node: Node | None) -> Node | None:
    return next((each.more for each in _alternatives(node) if isinstance(each, json_schema.Object)), None)


def _items(node: Node | None) -> Node | None:
    return next((each.every_item for each in _alternatives(node) if isinstance(each, json_schema.Array)), None)


def _alternatives(node: Node | None, depth: int = 0) -> list[Node]:
    """The node itself, or the parts of a combination, and of the combinations in it."""
    if node is None or depth > _DEPTH_MAX:
        return []
    if isinstance(node, json_schema.Combination):
        return [each for part in node.parts for each in _alternatives(part, depth + 1)]
    return [node]
