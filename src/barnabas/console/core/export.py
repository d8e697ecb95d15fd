"""Records as lines of a file, and as a Parquet file. Pure.

JSON lines can be sent again: texts are texts, JSON is JSON, and other bytes are base64 under
another name (:mod:`~.record_request` reads them). A cell of CSV that begins as a formula gets an
apostrophe, so that a spreadsheet does not compute what a record says.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable
from typing import Any, Final

from barnabas.console.core.decoding.json_format import plain_value, print_json
from barnabas.console.core.decoding.plain_text import read_text
from barnabas.console.core.record import ReadRecord
from barnabas.console.errors import BadValue

FORMATS: Final = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
_COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value", "headers")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

# A record, and its decoded form, as a line.
Line = Callable[[ReadRecord, Any], bytes]


def export_lines(name: str) -> tuple[bytes, Line]:
    """The beginning of the file, and the line of a record."""
    return (b"", _json_line) if name == "jsonl" else (_csv_row(_COLUMNS), _csv_line)


def _json_line(record: ReadRecord, decoded: Any) -> bytes:
    made: dict[str, Any] = {"partition": record.partition, "offset": record.offset, "timestamp": record.timestamp}
    for name, data, part in (("key", record.key, decoded.key), ("value", record.value, decoded.value)):
        if data is None:
            made[name] = None
        elif part.format in ("json", "schema"):
            made[name] = plain_value(part.value)
        elif (text := read_text(data)) is not None:
            made[name] = text
        else:
            made[f"{name}_base64"] = base64.b64encode(data).decode()
    made["headers"] = {name: None if value is None else value.decode("utf-8", "replace") for name, value in record.headers}
    return json.dumps(made).encode() + b"\n"


def _csv_line(record: ReadRecord, decoded: Any) -> bytes:
    headers = json.dumps({name: None if value is None else value.decode("utf-8", "replace") for name, value in record.headers})
    cells = [_cell(record.key, decoded.key), _cell(record.value, decoded.value), headers if record.headers else ""]
    return _csv_row((str(record.partition), str(record.offset), str(record.timestamp), *cells))


def _cell(data: bytes | None, part: Any) -> str:
    if data is None:
        return ""
    text = print_json(part.value, indent=None) if part.format == "schema" else read_text(data)
    if text is None:
        return f"0x{data.hex()}"
    return f"'{text}" if text.startswith(_FORMULA) else text


def _csv_row(cells: Any) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().encode("utf-8", "replace")


def parquet_file(records: list[ReadRecord]) -> bytes:
    """Needs pyarrow, which the extras [spark] and [sql] bring."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise BadValue("Parquet needs pyarrow: pip install pyarrow.", "format") from None
    header = pa.struct([("name", pa.string()), ("value", pa.binary())])
    table = pa.table(
        {
            "topic": pa.array([each.topic for each in records], pa.string()),
            "partition": pa.array([each.partition for each in records], pa.int32()),
            "offset": pa.array([each.offset for each in records], pa.int64()),
            "timestamp": pa.array([each.timestamp for each in records], pa.timestamp("ms", tz="UTC")),
            "key": pa.array([each.key for each in records], pa.binary()),
            "value": pa.array([each.value for each in records], pa.binary()),
            "headers": pa.array([[{"name": name, "value": value} for name, value in each.headers] for each in records], pa.list_(header)),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()
