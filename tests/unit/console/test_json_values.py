from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from barnabas.console.core.paging import Page
from barnabas.console.web.json_values import json_bytes, schema_of


class _Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class _Leaf:
    """A leaf of the tree."""

    colour: _Colour
    names: dict[str, int | None]
    kind: Literal["a", "b"]
    _hidden: str = "secret"


@dataclass(frozen=True)
class _Tree:
    leaves: Page[_Leaf]
    children: list[_Tree] = field(default_factory=list)
    ratio: float = float("nan")
    for_page: str = field(default="x", metadata={"page_only": True})


def test_an_answer_becomes_json_without_what_is_for_pages_alone() -> None:
    tree = _Tree(Page([_Leaf(_Colour.RED, {"n": None}, "a")], 1, 1, 50, 1))
    assert json.loads(json_bytes(tree)) == {
        "leaves": {"items": [{"colour": "red", "names": {"n": None}, "kind": "a"}], "number": 1, "pages": 1, "size": 50, "total": 1},
        "children": [],
        "ratio": None,
    }
    assert json_bytes("\ud800") == b'"\\ud800"'


def test_types_become_schemas_that_refer_to_each_other() -> None:
    known: dict[str, object] = {}
    assert schema_of(_Tree, known) == {"$ref": "#/components/schemas/_Tree"}
    assert known.keys() == {"_Tree", "PageOf_Leaf", "_Leaf"}
    page = known["PageOf_Leaf"]
    assert isinstance(page, dict)
    assert page["properties"]["items"] == {"type": "array", "items": {"$ref": "#/components/schemas/_Leaf"}}
    assert known["_Leaf"] == {
        "type": "object",
        "description": "A leaf of the tree.",
        "properties": {
            "colour": {"enum": ["red"]},
            "names": {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
            "kind": {"enum": ["a", "b"]},
        },
        "required": ["colour", "names", "kind"],
    }
