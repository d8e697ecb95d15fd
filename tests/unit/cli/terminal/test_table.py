from __future__ import annotations

import pytest

from barnabas.cli.terminal.output import duration_text, print_table, time_text
from barnabas.cli.terminal.table import display_width, fold, table_lines


def test_a_table_in_a_pipe_has_a_line_for_each_row_and_no_width() -> None:
    name = "x" * 200
    assert table_lines(("Name", "Size"), [(name, 7), ("b\nc", 12345)], width=None) == [
        f"{'Name':200}   Size",
        f"{name}      7",
        f"{'b' + chr(92) + 'nc':200}  12345",
    ]


def test_numbers_are_aligned_to_the_right_and_text_to_the_left() -> None:
    assert table_lines(("Name", "Size"), [("a", 7), ("bb", None)], width=None) == ["Name  Size", "a     7", "bb"]
    assert table_lines(("Name", "Size"), [("a", 7), ("bb", 11)], width=40) == ["Name  Size", "──────────", "a        7", "bb      11"]


def test_the_widest_column_folds_first() -> None:
    lines = table_lines(("Name", "Value"), [("short", "one, two, three, four, five, six")], width=24)
    assert lines == ["Name   Value", "─" * 24, "short  one, two, three,", "       four, five, six"]


@pytest.mark.parametrize("width", [20, 40, 80, 132])
@pytest.mark.parametrize("columns", [1, 3, 9])
def test_no_line_is_wider_than_the_terminal(width: int, columns: int) -> None:
    rows = [tuple(f"{'abc-def.' * (index + 1)}" for index in range(columns)), tuple("日本語" * index for index in range(columns))]
    lines = table_lines([f"Column {index}" for index in range(columns)], rows, width=width)
    assert max(map(display_width, lines)) <= width


def test_a_table_with_too_many_columns_becomes_a_block_for_each_row() -> None:
    columns = ("Transactional id", "Coordinator", "Producer id", "Duration")
    lines = table_lines(columns, [("id-1", 1, 2, "3 s"), ("id-2", 1, 4, "5 s")], width=30)
    assert lines[:6] == [
        "Transactional id  id-1",
        "Coordinator       1",
        "Producer id       2",
        "Duration          3 s",
        "",
        "Transactional id  id-2",
    ]


def test_a_cell_folds_where_a_reader_expects_it_and_loses_nothing() -> None:
    assert fold("alpha,beta,gamma", 12) == ["alpha,beta,", "gamma"]
    assert fold("nobreaksinthistext", 8) == ["nobreaks", "inthiste", "xt"]
    assert fold("two words here", 9) == ["two words", "here"]
    assert fold("", 5) == [""]


def test_control_characters_of_a_cell_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("Name",), [("a\x1b[31mb\tc\x7f",)])
    assert capsys.readouterr().out.splitlines()[1] == "a\\x1b[31mb\\tc\\x7f"


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 s"),
        (3, "0.003 s"),
        (250, "0.25 s"),
        (1000, "1 s"),
        (1540, "1.5 s"),
        (59_700, "1 min"),
        (185_000, "3 min 5 s"),
        (3_600_000, "1 h"),
        (187_200_000, "2 d 4 h"),
    ],
)
def test_a_duration_is_in_the_unit_that_a_person_would_choose(milliseconds: int, text: str) -> None:
    assert duration_text(milliseconds) == text


def test_a_time_is_in_utc_and_no_time_is_a_number() -> None:
    assert time_text(1_700_000_000_123) == "2023-11-14T22:13:20Z"
    assert time_text(-1) == "-1"
