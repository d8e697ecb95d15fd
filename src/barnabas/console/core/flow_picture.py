"""The flow of a pipeline as a picture: boxes in columns, and lines between them. Pure.

A source stands in the first column, a step one column behind the last of its inputs, and sinks in
the last column. A line goes from the right side of a box to the left side of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.console.core.pipeline_report import Flow, FlowNode

BOX_WIDTH: Final = 180
BOX_HEIGHT: Final = 56
_ACROSS: Final = 70
_DOWN: Final = 18
_EDGE: Final = 6
# A larger flow is a table only: a picture of it could not be read.
NODES_MAX: Final = 100
_CHARACTERS_MAX: Final = 22


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    kind: str
    role: str
    place: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Line:
    path: str
    """As SVG has it."""


@dataclass(frozen=True, slots=True)
class Picture:
    width: int
    height: int
    boxes: list[Box]
    lines: list[Line]


def picture_of(flow: Flow) -> Picture | None:
    """None for a flow without boxes, or with too many."""
    if not flow.nodes or len(flow.nodes) > NODES_MAX:
        return None
    columns = _columns(flow.nodes)
    rows: dict[int, int] = {}
    places: dict[tuple[str, str], tuple[int, int]] = {}
    boxes = []
    for node, column in zip(flow.nodes, columns, strict=True):
        row = rows.get(column, 0)
        rows[column] = row + 1
        x, y = _EDGE + column * (BOX_WIDTH + _ACROSS), _EDGE + row * (BOX_HEIGHT + _DOWN)
        places[node.role, node.name] = x, y
        boxes.append(Box(_short(node.name), node.kind, node.role, _place(node), x, y))
    lines = [
        Line(_curve(places[begin], places[node.role, node.name]))
        for node in flow.nodes
        for name in node.inputs
        if (begin := _beginning(name, places)) is not None and node.role != "source"
    ]
    width = 2 * _EDGE + (max(columns) + 1) * (BOX_WIDTH + _ACROSS) - _ACROSS
    return Picture(width, 2 * _EDGE + max(rows.values()) * (BOX_HEIGHT + _DOWN) - _DOWN, boxes, lines)


def _columns(nodes: list[FlowNode]) -> list[int]:
    """Steps are declared behind their inputs, so one pass finds the column of each."""
    found: dict[str, int] = {}
    columns = []
    for node in nodes:
        column = 0 if node.role == "source" else 1 + max((found.get(each, 0) for each in node.inputs), default=0)
        columns.append(column)
        if node.role != "sink":
            found[node.name] = column
    last = max(columns)
    return [last if node.role == "sink" else column for node, column in zip(nodes, columns, strict=True)]


def _beginning(name: str, places: dict[tuple[str, str], tuple[int, int]]) -> tuple[str, str] | None:
    """Sources and steps share their names; a sink may have the name of one of them."""
    return next(((role, name) for role in ("source", "step") if (role, name) in places), None)


def _curve(begin: tuple[int, int], end: tuple[int, int]) -> str:
    left, right = begin[0] + BOX_WIDTH, end[0]
    top, bottom = begin[1] + BOX_HEIGHT // 2, end[1] + BOX_HEIGHT // 2
    middle = (left + right) // 2
    return f"M{left} {top} C{middle} {top} {middle} {bottom} {right} {bottom}"


def _place(node: FlowNode) -> str:
    """It stands behind the kind, on the same line of the box."""
    return _short(", ".join(node.places), max(_CHARACTERS_MAX - len(node.kind), 1))


def _short(text: str, characters_max: int = _CHARACTERS_MAX) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + "\N{HORIZONTAL ELLIPSIS}"
