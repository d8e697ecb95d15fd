"""Records of a topic as columns of Arrow: the columns that a query uses, one batch at a time.

The same columns as :func:`barnabas.pipelines.sql.topic_table.table` makes in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

from barnabas.pipelines.column_types import ColumnType, Struct, arrow_type
from barnabas.pipelines.sql.embedded.json_values import TextNeeded, converter, field_value, parse, parse_with_texts
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.inference import KAFKA_COLUMNS, TableShape, ValueKind
from barnabas.schemas.framing import VALUE_HEADER

# confluent-kafka's annotations make every field of a message optional.
Message = Any


class RecordColumns:
    def __init__(self, shape: TableShape, used: Sequence[str]) -> None:
        """``used``: names of the shape's columns, in the order of the result."""
        kinds = dict(shape.columns)
        self._shape = shape
        self._used = [(name, kinds[name]) for name in used]
        self._decoder = _decoder(shape)
        self._decoded = [(name, kinds[name]) for name in used if name not in KAFKA_COLUMNS] if self._decoder is not None else []
        self._fields = (
            [(name, converter(kinds[name])) for name in used if name not in KAFKA_COLUMNS] if shape.values is ValueKind.JSON else []
        )

    def batch(self, messages: Sequence[Message]) -> Any:
        """A table of Arrow; its columns are c0, c1, ..."""
        import pyarrow

        fields = self._parsed(messages) if self._fields else self._rows(messages) if self._decoded else {}
        try:
            columns = [
                _array(fields[name] if name in fields else self._about(name, messages), arrow_type(kind)) for name, kind in self._used
            ]
        except (UnicodeEncodeError, OverflowError, pyarrow.ArrowInvalid) as error:
            raise NotProven("a value does not fit its column") from error
        if not columns:
            # count(*) uses no column, but it counts rows.
            columns = [pyarrow.nulls(len(messages), pyarrow.bool_())]
        return pyarrow.table(columns, names=[f"c{index}" for index in range(len(columns))])

    def create_columns(self) -> Sequence[ColumnType]:
        return [kind for _, kind in self._used]

    def _parsed(self, messages: Sequence[Message]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {name: [] for name, _ in self._fields}
        adders = [(name, convert, columns[name].append) for name, convert in self._fields]
        for message in messages:
            value = message.value()
            record = None if value is None else parse(value)
            if record is None:
                for _, _, add in adders:
                    add(None)
                continue
            try:
                row = [field_value(record, name, convert) for name, convert, _ in adders]
            except TextNeeded:
                record = parse_with_texts(value)
                row = [field_value(record, name, convert) for name, convert, _ in adders]
            for (_, _, add), each in zip(adders, row, strict=True):
                add(each)
        return columns

    def _rows(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The columns of registered values."""
        assert self._decoder is not None
        wanted = arrow_type(Struct(tuple(self._decoded)))
        headers = [next((value for name, value in each.headers() or () if name == VALUE_HEADER), None) for each in messages]
        rows, _ = self._decoder.rows([each.value() for each in messages], headers, wanted)
        return dict(zip((name for name, _ in self._decoded), rows.flatten(), strict=True))

    def _about(self, name: str, messages: Sequence[Message]) -> list[Any]:
        if name == "value" and self._shape.values is ValueKind.TEXT:
            return [_text(each.value(), "a value") for each in messages]
        if name == "_key" and self._shape.key_is_text:
            return [_text(each.key(), "a key") for each in messages]
        return [_ABOUT[name](each) for each in messages]


def _array(values: Any, kind: Any) -> Any:
    """Of values, or of an array."""
    import pyarrow

    return values if isinstance(values, pyarrow.Array) else pyarrow.array(values, type=kind)


def _decoder(shape: TableShape) -> Any:
    if shape.plan is None:
        return None
    from barnabas.pipelines.registered.decoding import Decoder

    return Decoder(shape.plan)


def _text(value: bytes | None, noun: str) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        raise NotProven(f"{noun} is not UTF-8, unlike those of the sample") from error


# confluent-kafka returns a list and leaves the error of a name behind. Only a generic call checks
# for that; a call that the interpreter has specialized would raise it at some later line.
_read_headers = methodcaller("headers")


def _headers(message: Message) -> Any:
    try:
        found = _read_headers(message)
    except (SystemError, UnicodeDecodeError) as error:
        raise NotProven("the name of a header is not UTF-8") from error
    # A header may be there twice; the last one counts, in both engines.
    return None if found is None else list({name: _text(value, "a header") for name, value in found}.items())


_ABOUT: dict[str, Callable[[Message], Any]] = {
    "_key": lambda message: message.key(),
    "_partition": lambda message: message.partition(),
    "_offset": lambda message: message.offset(),
    "_timestamp": lambda message: message.timestamp()[1] * 1000,
    "_headers": _headers,
    "value": lambda message: message.value(),
}
