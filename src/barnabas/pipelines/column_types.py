"""The types of columns, with Spark's names.

Schemas of a registry become these (:mod:`barnabas.pipelines.registered`), and so do samples of JSON
(:mod:`barnabas.pipelines.sql`). Spark reads them as its own JSON of a schema, the embedded engine
as types of Arrow and DuckDB. A timestamp is a moment in UTC, with microseconds; ``timestamp_ntz``
is a date and a time of day without a zone.
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
    """Texts by texts, unless it says otherwise: the headers of a record."""

    key: ColumnType = Scalar("string")
    value: ColumnType = Scalar("string")


ColumnType = Scalar | Decimal | Array | Struct | Map

VOID = Scalar("void")
BOOLEAN = Scalar("boolean")
INT = Scalar("int")
BIGINT = Scalar("bigint")
FLOAT = Scalar("float")
DOUBLE = Scalar("double")
STRING = Scalar("string")
BINARY = Scalar("binary")
TIMESTAMP = Scalar("timestamp")
TIMESTAMP_NTZ = Scalar("timestamp_ntz")
DATE = Scalar("date")

# Spark writes schemas in JSON with names that differ for integers.
_SPARK_JSON = {"int": "integer", "bigint": "long"}
_FROM_SPARK_JSON = {"integer": "int", "short": "int", "byte": "int", "long": "bigint"}
_KNOWN_TO_SPARK = frozenset(
    {"void", "boolean", "integer", "short", "byte", "long", "float", "double", "string", "binary", "timestamp", "timestamp_ntz", "date"}
)
_DUCKDB = {
    "void": "INTEGER",
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
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
        case Map(key, value):
            return f"map<{spark_name(key)},{spark_name(value)}>"


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
        case Map(key, value):
            return {"type": "map", "keyType": spark_schema(key), "valueType": spark_schema(value), "valueContainsNull": True}


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
        case Map(key, value):
            return f"MAP({duckdb_name(key)}, {duckdb_name(value)})"


def arrow_type(kind: ColumnType) -> Any:
    import pyarrow

    match kind:
        case Decimal(precision, scale):
            return pyarrow.decimal128(precision, scale)
        case Array(element):
            return pyarrow.list_(arrow_type(element))
        case Struct(fields):
            return pyarrow.struct([pyarrow.field(name, arrow_type(each)) for name, each in fields])
        case Map(key, value):
            return pyarrow.map_(arrow_type(key), arrow_type(value))
        case Scalar(name):
            scalars = {
                "boolean": pyarrow.bool_,
                "int": pyarrow.int32,
                "bigint": pyarrow.int64,
                "float": pyarrow.float32,
                "double": pyarrow.float64,
                "string": pyarrow.string,
                "binary": pyarrow.binary,
                "timestamp": lambda: pyarrow.timestamp("us"),
                "timestamp_ntz": lambda: pyarrow.timestamp("us"),
                "date": pyarrow.date32,
            }
            return scalars[name]()


def of_spark(kind: Any) -> ColumnType:
    """From Spark's JSON of a type; small integers are integers. Raises ``ValueError`` for types
    that have no equal here, such as intervals."""
    if isinstance(kind, str):
        if kind.startswith("decimal"):
            precision, _, scale = kind.removeprefix("decimal(").rstrip(")").partition(",")
            return Decimal(int(precision), int(scale or 0))
        if kind.startswith(("char(", "varchar(")):
            return STRING
        if kind not in _KNOWN_TO_SPARK:
            raise ValueError(kind)
        return Scalar(_FROM_SPARK_JSON.get(kind, kind))
    match kind["type"]:
        case "array":
            return Array(of_spark(kind["elementType"]))
        case "map":
            return Map(of_spark(kind["keyType"]), of_spark(kind["valueType"]))
        case "struct":
            return Struct(tuple((each["name"], of_spark(each["type"])) for each in kind["fields"]))
        case other:
            raise ValueError(other)


def quoted(name: str) -> str:
    """An identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'
