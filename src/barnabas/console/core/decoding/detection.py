"""The format of a key or a value, found by looking at its bytes.

=============  ====================================================================
format         when
=============  ====================================================================
null           there are no bytes: a tombstone, or a record without a key
empty          there are zero bytes
a schema's     the bytes are framed, and the registry knows the schema
avro file      an object container file of Avro, which has its schema in it
json           a JSON document
text           UTF-8 without control characters
message pack   a map or an array of MessagePack, up to its last byte
number         4 or 8 other bytes: an int32 or int64 of Java's serializers
protobuf       a message whose fields have small numbers, up to its last byte
hex            everything else
=============  ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from barnabas.console.core.decoding.avro_container import MAGIC, NotAContainer, read_container
from barnabas.console.core.decoding.hex_dump import hex_dump
from barnabas.console.core.decoding.json_format import NOT_JSON, print_json, read_json
from barnabas.console.core.decoding.message_pack import NOT_MESSAGE_PACK, read_message_pack
from barnabas.console.core.decoding.plain_text import read_text
from barnabas.console.core.decoding.protobuf_wire import NOT_PROTOBUF, read_protobuf
from barnabas.console.core.decoding.safe_text import cut, safe

FORMATS: Final = ("auto", "avro-file", "json", "text", "messagepack", "number", "protobuf", "hex")
NO_VALUE: Final = object()
# Characters of a value in a list, and on a page of its own. A browser becomes slow with more, and
# the whole value can be downloaded.
LISTED_CHARACTERS_MAX: Final = 2_000
SHOWN_CHARACTERS_MAX: Final = 200_000
# A dump has five characters for each byte.
_DUMPED_BYTES_MAX: Final = SHOWN_CHARACTERS_MAX // 5
_NUMBER_SIZES: Final = (4, 8)


@dataclass(frozen=True, slots=True)
class SchemaValue:
    """A value that was decoded with a schema of the registry."""

    schema: str
    """For people: the type, the id and the name."""
    value: Any
    remark: str | None = None
    """Why the schema may be the wrong one, though the bytes fit it."""


@dataclass(frozen=True, slots=True)
class Decoded:
    format: str
    text: str
    """Safe to show; cut at the limit that the caller gave."""
    is_cut: bool
    size_bytes: int
    schema: str | None = None
    """Safe to show."""
    problem: str | None = None
    """Safe to show. Why the bytes are not decoded as they claim or as a person chose, or may be decoded wrongly."""
    _value: Any = field(default=NO_VALUE, repr=False)
    """For filters: dicts, lists, texts, numbers."""
    chosen_by: str = "bytes"
    """Where the decoder comes from: ``bytes`` if it was detected, ``frame`` if the bytes name their
    schema, ``page`` or ``file`` if a person chose it."""

    @property
    def value(self) -> Any:
        return None if self._value is NO_VALUE else self._value


def decode(
    data: bytes | None,
    *,
    characters_max: int = LISTED_CHARACTERS_MAX,
    schema: SchemaValue | None = None,
    problem: str | None = None,
    wanted: str = "auto",
    indent: int | None = 2,
) -> Decoded:
    """``schema`` is the decoded value, if there is one. ``wanted`` is the format that a person
    chose; bytes that are not of it are hex. ``indent`` is that of JSON; None prints it on one
    line."""
    if data is None:
        return Decoded("null", "", False, 0)
    if not data:
        return Decoded("empty", "", False, 0)
    if schema is not None:
        printed = print_json(schema.value, indent=indent)
        return _made("schema", printed, data, characters_max, schema.value, schema.schema, problem or schema.remark)
    if wanted in ("auto", "avro-file") and data.startswith(MAGIC):
        try:
            file = read_container(data)
        except NotAContainer as error:
            problem = problem or f"The bytes begin as an Avro object container file, but cannot be read as one: {error}"
        else:
            name = f"avro file{f' of {file.name}' if file.name else ''}, codec {file.codec}"
            if file.is_cut:
                problem = problem or f"Only the first {len(file.objects)} of {file.objects_total} objects are shown."
            return _made("avro-file", print_json(file.objects, indent=indent), data, characters_max, file.objects, name, problem)
    if wanted in ("auto", "json") and (value := read_json(data)) is not NOT_JSON:
        return _made("json", print_json(value, indent=indent), data, characters_max, value, problem=problem)
    if wanted in ("auto", "text") and (text := read_text(data)) is not None:
        return _made("text", text, data, characters_max, text, problem=problem)
    if wanted == "text":
        return _made("text", data.decode("utf-8", "replace"), data, characters_max, None, problem=problem)
    if wanted in ("auto", "messagepack") and (value := read_message_pack(data)) is not NOT_MESSAGE_PACK:
        return _made("messagepack", print_json(value, indent=indent), data, characters_max, value, problem=problem)
    if len(data) in _NUMBER_SIZES and wanted in ("auto", "number") and problem is None:
        number = int.from_bytes(data, "big", signed=True)
        return _made("number", f"{number} (0x{data.hex()})", data, characters_max, number)
    if wanted in ("auto", "protobuf") and problem is None and (value := read_protobuf(data)) is not NOT_PROTOBUF:
        return _made("protobuf", print_json(value, indent=indent), data, characters_max, value)
    if wanted not in ("auto", "hex") and problem is None:
        problem = f"The bytes are not of the format {wanted}, which was chosen."
    dumped = hex_dump(data[: min(_DUMPED_BYTES_MAX, characters_max)])
    made = _made("hex", dumped, data, characters_max, None, problem=problem)
    return made if len(data) <= _DUMPED_BYTES_MAX else replace(made, is_cut=True)


def _made(
    name: str, text: str, data: bytes, characters_max: int, value: Any, schema: str | None = None, problem: str | None = None
) -> Decoded:
    shown = cut(text, characters_max)
    # Names in a schema, and errors that quote the bytes, are texts of strangers too.
    safe_schema, safe_problem = (each if each is None else safe(each) for each in (schema, problem))
    return Decoded(name, shown.text, shown.is_cut, len(data), safe_schema, safe_problem, value)
