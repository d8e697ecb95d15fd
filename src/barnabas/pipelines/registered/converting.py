"""Functions from a codec's values to values of columns, put together from small ones.

A converter is a function of one value that is not null, or None where nothing has to change: most
records of most schemas pass through without a call for each of their values.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

Converter = Callable[[Any], Any]


def struct_of(fields: Mapping[str, Converter | None]) -> Converter | None:
    changing = [(name, convert) for name, convert in fields.items() if convert is not None]
    if not changing:
        return None

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        changed = dict(value)
        for name, each in changing:
            found = changed.get(name)
            if found is not None:
                changed[name] = each(found)
        return changed

    return convert


def array_of(element: Converter | None) -> Converter | None:
    if element is None:
        return None
    return lambda value: [None if each is None else element(each) for each in value]


def map_of(value: Converter | None) -> Converter:
    """Arrow's maps are lists of pairs."""
    if value is None:
        return lambda mapping: list(mapping.items())
    return lambda mapping: [(name, None if each is None else value(each)) for name, each in mapping.items()]


def dict_of(value: Converter | None) -> Converter:
    """The way back of :func:`map_of`."""
    if value is None:
        return dict
    return lambda pairs: {name: None if each is None else value(each) for name, each in pairs}


def as_json(value: Any) -> str:
    """The text of a value whose column has no structure of its own. Values that JSON does not have
    are texts: bytes in base64, the others as Python writes them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_text)


def _text(value: Any) -> str:
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)
