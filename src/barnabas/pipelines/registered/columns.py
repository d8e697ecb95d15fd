"""A parsed schema as columns, whichever format it has; and the functions between values of its
codec and values of the columns.
"""

from __future__ import annotations

from barnabas.pipelines.column_types import Struct
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.registered import avro_columns, avro_writing, json_columns, json_writing, protobuf_columns, protobuf_writing
from barnabas.pipelines.registered.converting import Converter
from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.model import Record
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.json_schema.model import Object
from barnabas.schemas.protobuf.model import MessageType
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema


def columns_of(schema: ParsedSchema, record: str | None = None) -> Struct:
    """``record``: the full name of the Protobuf message, the first of the file without one."""
    match schema:
        case AvroSchema():
            return avro_columns.columns_of(schema.root)
        case JsonSchema():
            return json_columns.columns_of(schema.node)
        case ProtobufSchema():
            return protobuf_columns.columns_of(schema.file, message_of(schema, record))
    raise AssertionError(schema)


def reading_converter(schema: ParsedSchema, record: str | None = None) -> Converter | None:
    """From a decoded value to a dict of the columns; None where it is one already."""
    match schema:
        case AvroSchema():
            return avro_columns.converter_of(schema.root)
        case JsonSchema():
            return json_columns.converter_of(schema.node)
        case ProtobufSchema():
            return protobuf_columns.converter_of(schema.file, message_of(schema, record))
    raise AssertionError(schema)


def writing_converter(schema: ParsedSchema, record: str | None = None) -> Converter | None:
    """From a row of Arrow, as a dict, to a value that the codec encodes."""
    match schema:
        case AvroSchema():
            return avro_writing.converter_of(schema.root)
        case JsonSchema():
            return json_writing.converter_of(schema.node)
        case ProtobufSchema():
            return protobuf_writing.converter_of(schema.file, message_of(schema, record))
    raise AssertionError(schema)


def required_columns(schema: ParsedSchema) -> frozenset[str]:
    """Fields that every written value must have."""
    match schema:
        case AvroSchema(root=Record() as root):
            return frozenset(each.name for each in root.fields if not each.has_default)
        case JsonSchema(node=Object() as node):
            return node.required & node.properties.keys()
        case _:
            return frozenset()


def message_of(schema: ProtobufSchema, record: str | None) -> MessageType:
    found = protobuf_columns.message_of(schema.file, record)
    if found is None:
        raise CannotRun("The schema has no message." if record is None else f"The schema has no message {record!r}.")
    return found
