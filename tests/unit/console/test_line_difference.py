from __future__ import annotations

import random

from barnabas.console.core.line_difference import COMPARED_LINES_MAX, LineKind, line_difference


def _shown(old: str, new: str) -> list[str]:
    signs = {LineKind.SAME: " ", LineKind.REMOVED: "-", LineKind.ADDED: "+"}
    return [f"{signs[each.kind]}{each.text}" for each in line_difference(old, new)]


def test_equal_texts_have_only_common_lines() -> None:
    assert _shown("a\nb", "a\nb\n") == [" a", " b"]
    assert line_difference("", "") == []


def test_a_replaced_line_stands_between_common_ones_with_its_numbers() -> None:
    assert _shown("a\nb\nc", "a\nx\ny\nc") == [" a", "-b", "+x", "+y", " c"]
    assert [(each.old_number, each.new_number) for each in line_difference("a\nb\nc", "a\nx\ny\nc")] == [
        (1, 1),
        (2, None),
        (None, 2),
        (None, 3),
        (3, 4),
    ]


def test_both_texts_can_be_read_back_from_the_difference() -> None:
    chance = random.Random(7)
    for _ in range(200):
        old, new = ([chance.choice("abc") for _ in range(chance.randrange(12))] for _ in range(2))
        found = line_difference("\n".join(old), "\n".join(new))
        assert [each.text for each in found if each.kind is not LineKind.ADDED] == old
        assert [each.text for each in found if each.kind is not LineKind.REMOVED] == new
        assert [each.old_number for each in found if each.old_number] == list(range(1, len(old) + 1))
        assert [each.new_number for each in found if each.new_number] == list(range(1, len(new) + 1))


def test_texts_with_too_many_different_lines_are_replaced_as_a_whole() -> None:
    old = "\n".join(f"a{number}" for number in range(COMPARED_LINES_MAX + 1))
    new = "\n".join(f"b{number}" for number in range(COMPARED_LINES_MAX + 1))
    assert [each.kind for each in line_difference(f"head\n{old}", f"head\n{new}")[:2]] == [LineKind.SAME, LineKind.REMOVED]
