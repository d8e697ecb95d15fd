"""Protobuf messages as JSON: see :mod:`barnabas.schemas.json_view`."""

from __future__ import annotations

from typing import Any

from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema
from barnabas.schemas.framing import write_indexes
from barnabas.schemas.limits import DATA_DEPTH_MAX
from barnabas.schemas.protobuf.codec import ProtobufCodec
from barnabas.schemas.protobuf.message_types import MessageTypes
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema


class ProtobufJsonView:
    def __init__(self, schema: ProtobufSchema, message: str | None = None) -> None:
        self._codec = ProtobufCodec(schema, logical_types=False)
        self._types = MessageTypes(schema)
        self._writing = message or schema.record_name
        if message is not None and self._types.indexes(message) is None:
            raise InvalidSchema(f"The schema has no message {message}.")

    def show(self, payload: bytes) -> object:
        from google.protobuf import json_format

        message, _ = self._codec.message_of(payload)
        try:
            return json_format.MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
        except (json_format.Error, ValueError, TypeError) as error:
            # A time beyond the calendar, or an Any of a message that the schema does not have.
            raise DoesNotDecode(f"the message has no JSON: {error}") from None

    def read(self, value: object) -> bytes:
        from google.protobuf import json_format
        from google.protobuf.message import EncodeError

        if self._writing is None:
            raise DoesNotEncode("the schema has no message")
        if not isinstance(value, dict):
            raise DoesNotEncode(f"a value of type {type(value).__name__} is no message {self._writing}")
        indexes = self._types.indexes(self._writing)
        assert indexes is not None
        message: Any = self._types.message_class(self._writing)()
        try:
            json_format.ParseDict(value, message, max_recursion_depth=DATA_DEPTH_MAX)
            return write_indexes(indexes) + bytes(message.SerializeToString(deterministic=True))
        except (json_format.Error, EncodeError, ValueError, TypeError) as error:
            raise DoesNotEncode(str(error).rstrip(".")) from None
