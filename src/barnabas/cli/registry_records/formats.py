"""How keys and values are written on the terminal and in files."""

from __future__ import annotations

from enum import StrEnum

from barnabas.cli.terminal.record_text import Notation
from barnabas.schemas.schema import SchemaType


class Format(StrEnum):
    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"
    AVRO = "avro"
    JSON_SCHEMA = "json_schema"
    PROTOBUF = "protobuf"
    AUTO = "auto"

    @property
    def needs_registry(self) -> bool:
        return self not in (Format.TEXT, Format.HEX, Format.BASE64)

    @property
    def notation(self) -> Notation:
        """Of the bytes; those of a schema become JSON, which is text."""
        return Notation.TEXT if self.needs_registry else Notation(self.value)

    @property
    def schema_type(self) -> SchemaType | None:
        """None for ``auto``: any."""
        return _TYPES.get(self)


_TYPES = {Format.AVRO: SchemaType.AVRO, Format.JSON_SCHEMA: SchemaType.JSON, Format.PROTOBUF: SchemaType.PROTOBUF}
