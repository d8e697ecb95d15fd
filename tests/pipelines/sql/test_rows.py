"""Rows as printed for people and programs."""

from __future__ import annotations

import datetime
import decimal

import pytest

from barnabas.cli.sql.rows import Format, RowPrinter, plain

COLUMNS = ("name", "n")


def test_rows_are_printed_as_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    RowPrinter(Format.JSON).print(COLUMNS, [("Ádám", 1), (None, b"\xff")])
    assert capsys.readouterr().out == '{"name": "Ádám", "n": 1}\n{"name": null, "n": "/w=="}\n'


def test_csv_names_its_columns_once(capsys: pytest.CaptureFixture[str]) -> None:
    printer = RowPrinter(Format.CSV)
    printer.print(COLUMNS, [("a,b", 1)])
    printer.print(COLUMNS, [(None, {"x": [1]})])
    assert capsys.readouterr().out == 'name,n\n"a,b",1\n,"{""x"": [1]}"\n'


def test_rows_are_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    RowPrinter(Format.TABLE).print(COLUMNS, [("[a]", 1), (None, 2)])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["name", "n"], ["[a]", "1"], ["2"]]


def test_values_of_spark_become_json() -> None:
    assert plain(datetime.datetime(2030, 1, 31, 12)) == "2030-01-31T12:00:00Z"  # noqa: DTZ001 - as Spark hands them out
    assert plain(datetime.date(2030, 1, 31)) == "2030-01-31"
    assert plain(decimal.Decimal("1.5")) == 1.5
    assert plain({"a": (1, bytearray(b"x"))}) == {"a": [1, "eA=="]}
