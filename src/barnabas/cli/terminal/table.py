"""Tables as lines of text, for a terminal of a given width or for a pipe of any.

In a pipe every row is one line, so that ``grep`` and ``awk`` work on it. On a terminal a table
never exceeds the width: the widest columns give way first, and their cells fold. A table with so
many columns that folding would leave scraps is shown as one block for each row instead, with a line
for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_GAP: Final = "  "
# A column does not become narrower than this, because a folded cell of fewer characters cannot be
# read.
_CELL_WIDTH_MIN: Final = 8
# Text folds after these, where a reader expects a break: in lists, paths, host names and settings.
_BREAK_AFTER: Final = " ,;/:=-_."


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[object]], *, width: int | None) -> list[str]:
    """``width`` is that of the terminal, or None for a pipe. The header comes first. Columns of
    numbers are aligned to the right."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if width is None:
        # A line break inside a cell would end the row for a program that reads lines.
        cells = [[cell.replace("\n", "\\n") for cell in row] for row in cells]
    right = [bool(rows) and all(isinstance(row[index], int | float) for row in rows) for index in range(len(columns))]
    natural = [max(display_width(line) for row in (columns, *cells) for line in row[index].split("\n")) for index in range(len(columns))]
    widths = natural if width is None else _fitting(columns, natural, width)
    if widths is None:
        assert width is not None
        return _blocks(columns, cells, width)
    lines = _row(columns, widths, right)
    if width is not None:
        lines.append("─" * (sum(widths) + len(_GAP) * (len(widths) - 1)))
    for row in cells:
        lines += _row(row, widths, right)
    return lines


def display_width(text: str) -> int:
    """Chinese, Japanese and Korean characters and emoji take two columns, combining marks none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _fitting(columns: Sequence[str], natural: list[int], width: int) -> list[int] | None:
    """The widths of the columns on a terminal; None if they cannot fit. Headers fold between words
    only."""
    room = width - len(_GAP) * (len(columns) - 1)
    least = [
        max(min(wide, _CELL_WIDTH_MIN), *(display_width(word) for word in column.split(" ")))
        for column, wide in zip(columns, natural, strict=True)
    ]
    if sum(least) > room:
        return None
    widths = list(natural)
    while sum(widths) > room:
        widest = max((index for index in range(len(widths)) if widths[index] > least[index]), key=lambda index: widths[index])
        widths[widest] -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    folded = [[part for line in cell.split("\n") for part in fold(line, wide)] for cell, wide in zip(cells, widths, strict=True)]
    lines = []
    for index in range(max(len(parts) for parts in folded)):
        texts = [parts[index] if index < len(parts) else "" for parts in folded]
        padded = (
            _padding(text, wide) + text if to_right else text + _padding(text, wide)
            for text, wide, to_right in zip(texts, widths, right, strict=True)
        )
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _padding(text: str, width: int) -> str:
    return " " * (width - display_width(text))


def fold(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns. A space at which a line ends is dropped."""
    lines = []
    while display_width(text) > width:
        end = _prefix(text, width)
        if text[end] != " ":
            # Half a line is not worth a nicer break.
            better = max((text.rfind(mark, 0, end) for mark in _BREAK_AFTER), default=-1) + 1
            end = better if better > end // 2 else end
        lines.append(text[:end].rstrip(" "))
        text = text[end:].lstrip(" ")
    return [*lines, text]


def _prefix(text: str, width: int) -> int:
    """How many characters fit, at least one."""
    if text.isascii():
        return width
    taken = 0
    for index, character in enumerate(text):
        taken += display_width(character)
        if taken > width:
            return max(1, index)
    return len(text)


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    titled = max(display_width(column) for column in columns)
    # On a terminal too narrow for titles and values side by side, values keep some room anyway.
    room = max(_CELL_WIDTH_MIN, width - titled - len(_GAP))
    lines = []
    for number, row in enumerate(rows):
        if number:
            lines.append("")
        for column, cell in zip(columns, row, strict=True):
            parts = [part for line in cell.split("\n") for part in fold(line, room)]
            lines.append(f"{column}{_padding(column, titled)}{_GAP}{parts[0]}".rstrip())
            lines += [f"{' ' * titled}{_GAP}{part}" for part in parts[1:]]
    return lines
