"""From JSON to the bytes of records, by a schema of the registry."""

from __future__ import annotations

import json
from typing import NoReturn

from barnabas.cli.errors import Refused
from barnabas.cli.registry_records.registry_access import refusing
from barnabas.registry_client.registered import RegisteredSchema
from barnabas.schemas.errors import DoesNotEncode
from barnabas.schemas.framing import write_frame
from barnabas.schemas.json_view import json_view_of


class SchemaEncoder:
    """A :class:`~.part_encoder.PartEncoder`."""

    def __init__(self, schema: RegisteredSchema, message: str | None = None) -> None:
        with refusing():
            self._view = json_view_of(schema.parsed, message=message)
        if schema.id is None:
            raise Refused("The registry gives the schema no id.")
        self._id = schema.id

    def of_text(self, text: bytes) -> bytes:
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
        except (UnicodeDecodeError, RecursionError) as error:
            raise ValueError("is not JSON") from error
        except ValueError as error:
            try:
                return write_frame(self._id, self._view.read(text.decode()))
            except (DoesNotEncode, UnicodeDecodeError):
                raise ValueError(f"is not JSON: {error}") from error
        return self.of_json(value)

    def of_json(self, value: object) -> bytes:
        try:
            return write_frame(self._id, self._view.read(value))
        except DoesNotEncode as error:
            raise ValueError(f"does not fit schema {self._id}: {str(error).rstrip('.')}") from error


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
