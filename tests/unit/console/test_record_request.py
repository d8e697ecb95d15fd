from __future__ import annotations

import json

import pytest

from barnabas.console.core.decoding.detection import decode
from barnabas.console.core.export import export_lines
from barnabas.console.core.record import BatchFacts, ReadRecord, TransactionState
from barnabas.console.core.record_request import RECORDS_MAX, NewRecord, read_bytes, read_headers, read_lines
from barnabas.console.errors import BadValue

_FACTS = BatchFacts(0, 1, 70, "none", 0, False, None, None, None)


class _Decoded:
    def __init__(self, record: ReadRecord) -> None:
        self.key, self.value = decode(record.key), decode(record.value)


def _record(key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...] = ()) -> ReadRecord:
    return ReadRecord("t", 1, 7, 1_000, key, value, headers, TransactionState.NONE, None, _FACTS)


@pytest.mark.parametrize(
    ("text", "name", "data"),
    [
        ("ä", "text", "ä".encode()),
        ("", "text", b""),
        ("", "null", None),
        ('{ "a" : 1 }', "json", b'{"a":1}'),
        ("DE:AD be ef", "hex", b"\xde\xad\xbe\xef"),
        ("3q2+7w==", "base64", b"\xde\xad\xbe\xef"),
    ],
)
def test_a_value_is_typed_in_several_forms(text: str, name: str, data: bytes | None) -> None:
    assert read_bytes(text, name, "value") == data


@pytest.mark.parametrize(("text", "name"), [("{", "json"), ("xy", "hex"), ("a", "base64"), ("ä", "base64")])
def test_a_value_of_another_form_is_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(BadValue) as refused:
        read_bytes(text, name, "value")
    assert refused.value.parameter == "value"


def test_headers_are_lines() -> None:
    assert read_headers("a=1=2\n\n b = x \nc") == [("a", b"1=2"), ("b", b"x"), ("c", None)]


@pytest.mark.parametrize(
    "record",
    [
        _record(b"k", b'{"a":[1,null]}'),
        _record(None, b"text"),
        _record(b"\xff", None, (("h", b"x"), ("n", None))),
        _record(b"k", b"\x00\x01"),
    ],
)
def test_an_exported_line_is_read_back_as_the_same_record(record: ReadRecord) -> None:
    _, line = export_lines("jsonl")
    assert list(read_lines(line(record, _Decoded(record)).decode())) == [NewRecord(record.key, record.value, list(record.headers), 1)]


@pytest.mark.parametrize("line", ["{", "[]", '{"headers": [1]}', '{"partition": "x"}', '{"partition": -1}', '{"value_base64": "!"}'])
def test_a_wrong_line_of_a_file_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(BadValue, match="Line 2"):
        list(read_lines(f'{{"value": "x"}}\n{line}'))


def test_a_file_has_a_limit() -> None:
    with pytest.raises(BadValue, match="at most"):
        list(read_lines('{"value": 1}\n' * (RECORDS_MAX + 1)))


def test_a_cell_of_csv_is_never_a_formula() -> None:
    header, line = export_lines("csv")
    record = _record(b"=cmd", b'a,"b"\n', (("h", b"x"),))
    assert header == b"partition,offset,timestamp,key,value,headers\r\n"
    assert line(record, _Decoded(record)).decode() == '1,7,1000,\'=cmd,"a,""b""\n","{""h"": ""x""}"\r\n'
    assert json.loads(export_lines("jsonl")[1](record, _Decoded(record)))["key"] == "=cmd"
