"""Avro's binary data, as records have it: without a header or a schema."""

from __future__ import annotations

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.data_reading import Cursor, reader_of, within
from barnabas.schemas.avro.data_writing import writer_of
from barnabas.schemas.avro.union_forms import UnionForm
from barnabas.schemas.errors import DoesNotDecode
from barnabas.schemas.limits import DATA_BYTES_MAX, DATA_DEPTH_MAX


class AvroCodec:
    def __init__(
        self, schema: AvroSchema, reader: AvroSchema | None = None, *, logical_types: bool = True, unions: UnionForm = UnionForm.PLAIN
    ) -> None:
        self._read = reader_of(schema.root, (reader or schema).root, logical_types=logical_types, unions=unions)
        self._write = writer_of(schema.root)

    def decode(self, payload: bytes) -> object:
        if len(payload) > DATA_BYTES_MAX:
            raise DoesNotDecode(f"the data has {len(payload)} bytes, and the limit is {DATA_BYTES_MAX}")
        cursor = Cursor(payload)
        try:
            value = self._read(cursor)
        except IndexError as error:
            raise within(error, "") from None
        if cursor.at < len(payload):
            raise DoesNotDecode(f"{len(payload) - cursor.at} bytes follow the data")
        return value

    def encode(self, value: object) -> bytes:
        written = bytearray()
        self._write(written, value, DATA_DEPTH_MAX)
        return bytes(written)
