"""An Avro schema for the columns of a sink that has none of its own.

Every field may be null, and null is its default: a later version may add and remove columns, and
old and new readers get along.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from barnabas.pipelines.column_types import Array, ColumnType, Decimal, Map, Scalar, Struct
from barnabas.pipelines.errors import CannotRun

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCALARS: Final[dict[str, Any]] = {
    "void": "string",
    "boolean": "boolean",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}


def avro_of(columns: Struct, record: str) -> str:
    """``record``: the full name of the record. Records inside are named after their columns."""
    return json.dumps(_record(columns, record))


def _record(struct: Struct, full_name: str) -> dict[str, Any]:
    namespace, _, name = full_name.rpartition(".")
    fields = []
    for column, kind in struct.fields:
        if not _NAME.fullmatch(column):
            raise CannotRun(f"Avro has no field {column!r}: names have letters, digits and underscores; rename the column.")
        fields.append({"name": column, "type": ["null", _type(kind, f"{full_name}_{column}")], "default": None})
    return {"type": "record", "name": name, **({"namespace": namespace} if namespace else {}), "fields": fields}


def _type(kind: ColumnType, name: str) -> Any:
    match kind:
        case Scalar(scalar):
            return _SCALARS[scalar]
        case Decimal(precision, scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case Array(element):
            return {"type": "array", "items": ["null", _type(element, name)]}
        case Map(key, value):
            if key != Scalar("string"):
                raise CannotRun("Avro's maps have keys of text; turn the keys of the map into texts.")
            return {"type": "map", "values": ["null", _type(value, name)]}
        case Struct():
            return _record(kind, name)
