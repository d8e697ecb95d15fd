"""Keys and values of one topic, decoded as a person, the console's file or their bytes say."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from barnabas.console.access.schema_decoding import SchemaDecoding
from barnabas.console.core.decoding.decoder_choice import DETECTED, SCHEMA, ChosenBy, DecoderChoice
from barnabas.console.core.decoding.detection import LISTED_CHARACTERS_MAX, Decoded, decode
from barnabas.console.core.record import ReadRecord

KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"


class RecordDecoder:
    def __init__(self, schemas: SchemaDecoding, key: DecoderChoice = DETECTED, value: DecoderChoice = DETECTED) -> None:
        self._schemas = schemas
        self._key, self._value = key, value

    def key(self, record: ReadRecord, *, characters_max: int = LISTED_CHARACTERS_MAX, indent: int | None = None) -> Decoded:
        return self._decoded(record.key, record, KEY_HEADER, self._key, characters_max, indent)

    def value(self, record: ReadRecord, *, characters_max: int = LISTED_CHARACTERS_MAX, indent: int | None = None) -> Decoded:
        return self._decoded(record.value, record, VALUE_HEADER, self._value, characters_max, indent)

    def _decoded(
        self, data: bytes | None, record: ReadRecord, header: str, choice: DecoderChoice, characters_max: int, indent: int | None
    ) -> Decoded:
        schema, problem, wanted, by = None, None, choice.format, choice.chosen_by
        if wanted == SCHEMA:
            schema, problem = self._schemas.decode_payload(data, choice.subject, choice.message)
            if schema is None:
                # The bytes are not what a person expects of the topic, so they are looked at.
                wanted, by = "auto", ChosenBy.BYTES
        if schema is None and wanted == "auto":
            schema, unknown = self._schemas.decode(data, dict(record.headers).get(header))
            problem = problem or unknown
            by = ChosenBy.FRAME if schema is not None else by
        made = decode(data, characters_max=characters_max, schema=schema, problem=problem, wanted=wanted, indent=indent)
        return made if by is ChosenBy.BYTES else replace(made, chosen_by=by.value)
