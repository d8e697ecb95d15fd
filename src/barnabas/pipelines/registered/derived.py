"""A schema for the columns of a sink, in the format that it writes."""

from __future__ import annotations

import re
from typing import Final

from barnabas.pipelines.column_types import Struct
from barnabas.pipelines.registered.derived_avro import avro_of
from barnabas.pipelines.registered.derived_json import json_schema_of
from barnabas.pipelines.registered.derived_protobuf import before_of, protobuf_of
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema, SchemaType

_UNFIT: Final = re.compile(r"[^A-Za-z0-9_]")


def derived_schema(type_: SchemaType, columns: Struct, record: str, latest: ParsedSchema | None) -> str:
    """``latest``: the newest version of the subject, whose numbers a Protobuf schema keeps."""
    match type_:
        case SchemaType.AVRO:
            return avro_of(columns, record)
        case SchemaType.JSON:
            return json_schema_of(columns, record)
        case SchemaType.PROTOBUF:
            return protobuf_of(columns, record, before_of(latest, record) if isinstance(latest, ProtobufSchema) else None)


def record_name(topic: str) -> str:
    """A name for the records of a topic, where none is declared: ``bank.payments-eu`` becomes
    ``bank_payments_eu``."""
    name = _UNFIT.sub("_", topic)
    return f"_{name}" if name[:1].isdigit() else name
