"""The difference of two texts, line by line. Pure.

Common lines at both ends are taken off first: most versions of a schema differ in a few lines, and
the comparison of the rest takes time that grows with the square of its length. Texts that differ
in more than :data:`COMPARED_LINES_MAX` lines are shown as removed and added as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from typing import Final

COMPARED_LINES_MAX: Final = 4_000


class LineKind(Enum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    kind: LineKind
    old_number: int | None
    """The first line is 1; None for a line that was added."""
    new_number: int | None
    text: str


def line_difference(old: str, new: str) -> list[DifferenceLine]:
    """Every line of both texts, in order; removed lines stand before the added ones that replace
    them."""
    before, after = old.splitlines(), new.splitlines()
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    middle_before, middle_after = before[head : len(before) - tail], after[head : len(after) - tail]
    lines = [_same(number, number, before) for number in range(head)]
    for tag, first, last, new_first, new_last in _steps(middle_before, middle_after):
        if tag == "equal":
            lines += [_same(head + first + step, head + new_first + step, before) for step in range(last - first)]
            continue
        lines += [DifferenceLine(LineKind.REMOVED, head + number + 1, None, middle_before[number]) for number in range(first, last)]
        lines += [DifferenceLine(LineKind.ADDED, None, head + number + 1, middle_after[number]) for number in range(new_first, new_last)]
    return lines + [_same(len(before) - back, len(after) - back, before) for back in range(tail, 0, -1)]


def _steps(before: list[str], after: list[str]) -> list[tuple[str, int, int, int, int]]:
    if max(len(before), len(after)) > COMPARED_LINES_MAX:
        return [("replace", 0, len(before), 0, len(after))]
    return [(tag, *numbers) for tag, *numbers in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()]  # type: ignore[misc]


def _common(before: list[str], after: list[str]) -> int:
    count = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        count += 1
    return count


def _same(old: int, new: int, before: list[str]) -> DifferenceLine:
    return DifferenceLine(LineKind.SAME, old + 1, new + 1, before[old])
