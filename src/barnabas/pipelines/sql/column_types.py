"""The types of columns, with Spark's names.

Both engines use them: Spark as the schema of ``from_json``, the embedded engine as types of Arrow
and DuckDB. A timestamp is a moment in UTC, with microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DECIMAL_PRECISION_MAX = 38


@dataclass(frozen=True, slots=True)
class Scalar:
    name: str


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class Array:
    element: ColumnType


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[tuple[str, ColumnType], ...]


@dataclass(frozen=True, slots=True)
class Map:
    """Texts by texts: the headers of a record."""


ColumnType = Scalar | Decimal | Array | Struct | Map

VOID = Scalar("void")
BOOLEAN = Scalar("boolean")
INT = Scalar("int")
BIGINT = Scalar("bigint")
DOUBLE = Scalar("double")
STRING = Scalar("string")
BINARY = Scalar("binary")
TIMESTAMP = Scalar("timestamp")
DATE = Scalar("date")

# Spark writes schemas in JSON with names that differ for integers.
_SPARK_JSON = {"int": "integer", "bigint": "long"}
_DUCKDB = {
    "void": "INTEGER",
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "timestamp": "TIMESTAMP",
    "date": "DATE",
}


def spark_name(kind: ColumnType) -> str:
    """As DESCRIBE prints it."""
    match kind:
        case Scalar(name):
            return name
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Array(element):
            return f"array<{spark_name(element)}>"
        case Struct(fields):
            return f"struct<{','.join(f'{name}:{spark_name(each)}' for name, each in fields)}>"
        case Map():
            return "map<string,string>"


def spark_schema(kind: ColumnType) -> Any:
    """In the notation of ``StructType.fromJson``."""
    match kind:
        case Array(element):
            return {"type": "array", "elementType": spark_schema(element), "containsNull": True}
        case Struct(fields):
            return {
                "type": "struct",
                "fields": [{"name": name, "type": spark_schema(each), "nullable": True, "metadata": {}} for name, each in fields],
            }
        case Scalar(name):
            return _SPARK_JSON.get(name, name)
        case Decimal():
            return spark_name(kind)
        case Map():
            raise AssertionError("only headers are maps, and they are not parsed from JSON")


def duckdb_name(kind: ColumnType) -> str:
    match kind:
        case Scalar(name):
            return _DUCKDB[name]
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Array(element):
            return f"{duckdb_name(element)}[]"
        case Struct(fields):
            return f"STRUCT({', '.join(f'{quoted(name)} {duckdb_name(each)}' for name, each in fields)})"
        case Map():
            return "MAP(VARCHAR, VARCHAR)"


def arrow_type(kind: ColumnType) -> Any:
    import pyarrow

    match kind:
        case Decimal(precision, scale):
            return pyarrow.decimal128(precision, scale)
        case Array(element):
            return pyarrow.list_(arrow_type(element))
        case Struct(fields):
            return pyarrow.struct([pyarrow.field(name, arrow_type(each)) for name, each in fields])
        case Map():
            return pyarrow.map_(pyarrow.string(), pyarrow.string())
        case Scalar(name):
            scalars = {
                "boolean": pyarrow.bool_,
                "int": pyarrow.int32,
                "bigint": pyarrow.int64,
                "double": pyarrow.float64,
                "string": pyarrow.string,
                "binary": pyarrow.binary,
                "timestamp": lambda: pyarrow.timestamp("us"),
                "date": pyarrow.date32,
            }
            return scalars[name]()


def quoted(name: str) -> str:
    """An identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'
