"""Schemas in files: their types by the names of the files, and references by options."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from barnabas.cli.errors import Refused
from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import ParsedSchema, SchemaType

_TYPES: Final = {".avsc": SchemaType.AVRO, ".json": SchemaType.JSON, ".proto": SchemaType.PROTOBUF}


def type_of(path: Path, given: str | None) -> SchemaType:
    if given is not None:
        if given.upper() not in SchemaType.__members__:
            raise Refused(f"--type is avro, json or protobuf, and not {given!r}.")
        return SchemaType(given.upper())
    found = _TYPES.get(path.suffix.lower())
    if found is None:
        raise Refused(f"{path} has none of the endings {', '.join(_TYPES)}; name its type with --type.")
    return found


def text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is no UTF-8 text.") from error


def parsed(path: Path, type_: SchemaType) -> ParsedSchema:
    try:
        return parse_schema(type_, text_of(path))
    except InvalidSchema as error:
        raise Refused(f"{path}: {error}") from error


def references(given: list[str]) -> list[dict[str, Any]]:
    """Each ``name=subject:version``; the subject may contain colons."""
    found = []
    for text in given:
        name, equals, place = text.partition("=")
        subject, colon, version = place.rpartition(":")
        if not equals or not colon or not name or not version.lstrip("-").isdecimal():
            raise Refused(f"--reference takes name=subject:version, but was given {text!r}.")
        found.append({"name": name, "subject": subject, "version": int(version)})
    return found
