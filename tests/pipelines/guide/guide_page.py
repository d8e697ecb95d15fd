"""``docs/pipelines.md`` as data: the sources it declares and the rows of its two tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
TABLES = ("### Kafka Streams", "### Connect's transforms")
_MARK = "<!-- The test reads the next block, the two tables below, and the block of longer steps. -->"
LONGER = "[below](#longer-steps)"
_CODE = re.compile(r"`([^`]*)`")


@dataclass(frozen=True, slots=True)
class Row:
    """``step`` is empty where the source is written unchanged."""

    operation: str
    step: dict[str, Any]
    sink: dict[str, Any]


def sources() -> dict[str, dict[str, Any]]:
    block = PAGE.read_text("utf-8").partition(_MARK)[2].partition("```yaml\n")[2].partition("```")[0]
    found: dict[str, dict[str, Any]] = _parsed(block)["sources"]
    return found


def rows() -> list[Row]:
    text = PAGE.read_text("utf-8")
    found = []
    for title in TABLES:
        table = text.partition(f"{title}\n")[2].lstrip().partition("\n\n")[0]
        lines = table.splitlines()[2:]
        assert lines, f"there is no table under {title!r}"
        found += [_row(line) for line in lines]
    return found


def _row(line: str) -> Row:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    assert len(cells) == 3, line
    step = longer_steps()[_CODE.findall(cells[0])[0]] if cells[1] == LONGER else _cell(cells[1])
    return Row(cells[0], step, _cell(cells[2]))


def longer_steps() -> dict[str, dict[str, Any]]:
    """Steps that do not fit a row, by the operation's name."""
    block = PAGE.read_text("utf-8").partition("#### Longer steps\n")[2].partition("```yaml\n")[2].partition("```")[0]
    return _parsed(block)


def _cell(text: str) -> dict[str, Any]:
    code = _CODE.findall(text)
    assert len(code) <= 1, text
    return _parsed(code[0]) if code else {}


def _parsed(text: str) -> dict[str, Any]:
    # As Barnabas reads it, every word is a text: YAML's own rules would turn `on` into true.
    found: dict[str, Any] = yaml.load(text, yaml.BaseLoader)
    return found
