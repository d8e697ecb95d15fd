"""From the text of a ``.proto`` file to its model.

The grammar is that of ``proto-schema-parser``; names are resolved here, as Protobuf does it: from
the innermost scope outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.limits import DEPTH_MAX, PROTO_CHARACTERS_MAX, TYPES_MAX
from barnabas.schemas.protobuf.builtin_files import builtin_descriptor, is_builtin
from barnabas.schemas.protobuf.descriptor_text import text_of_descriptor
from barnabas.schemas.protobuf.model import (
    SCALAR_GROUPS,
    EnumType,
    FieldType,
    MapOf,
    MessageField,
    MessageType,
    Named,
    ProtoFile,
    Scalar,
)

_FIELD_NUMBER_MAX: Final = 2**29 - 1


def file_of(elements: Any, known: Mapping[str, ProtoFile] | None = None) -> ProtoFile:
    """``known`` are the imported files by the name under which the text imports them."""
    return _Reader(known or {}).file(elements)


def resolver(file: ProtoFile) -> Callable[[str, str], str]:
    """A function that gives the full name, with a leading dot, of a type that a scope names."""

    def resolve(name: str, scope: str) -> str:
        if name in SCALAR_GROUPS:
            return name
        found = _resolved(name, scope, file.types)
        return f".{found}" if found is not None else name

    return resolve


@cache  # Bounded by the list of such files.
def builtin_file(name: str) -> ProtoFile | None:
    """A file that comes with Protobuf."""
    descriptor = builtin_descriptor(name)
    text = text_of_descriptor(descriptor) if descriptor is not None else None
    return file_of(read_elements(text)) if text is not None else None


def read_elements(text: str) -> Any:
    """The syntax tree of a text. Raises :class:`InvalidSchema`."""
    if len(text) > PROTO_CHARACTERS_MAX:
        raise SchemaTooComplex(f"The schema has {len(text)} characters; the limit of a .proto file is {PROTO_CHARACTERS_MAX}.")
    if _depth(text) > DEPTH_MAX:
        raise SchemaTooComplex(f"Messages stand in each other more than {DEPTH_MAX} deep.")
    # Imported here: the grammar takes a tenth of a second to load.
    from proto_schema_parser.parser import Parser

    def strictly(recognizer: Any) -> None:
        # By default the grammar prints errors and goes on as well as it can.
        recognizer.removeErrorListeners()
        recognizer.addErrorListener(_Refusal())

    try:
        return Parser(setup_lexer=strictly, setup_parser=strictly).parse(text)
    except InvalidSchema:
        raise
    except RecursionError:
        raise SchemaTooComplex("The schema is nested too deeply.") from None
    except Exception as error:  # noqa: BLE001
        # The parser raises whatever its grammar runs into: AttributeError, ValueError, its own
        # errors. None of them is ours: the text alone decides.
        raise InvalidSchema(f"The schema is no .proto file: {error}.") from None


class _Refusal:
    """A listener of the grammar that ends the parsing with the first error."""

    def syntaxError(self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any) -> None:  # noqa: N802
        raise InvalidSchema(f"The schema is no .proto file: line {line}, column {column}: {message}.")

    def __getattr__(self, name: str) -> Any:
        """Reports of ambiguities are none of errors."""
        return lambda *_: None


def _depth(text: str) -> int:
    """The deepest nesting of braces, before a recursive parser sees the text."""
    depth = deepest = 0
    for character in text:
        if character == "{":
            depth += 1
            deepest = max(deepest, depth)
        elif character == "}":
            depth -= 1
    return deepest


class _Reader:
    def __init__(self, known: Mapping[str, ProtoFile]) -> None:
        self._known = known
        self._types: dict[str, MessageType | EnumType] = {}
        # Whether a file is imported whose types cannot be known here.
        self._imports_unknown = False
        self._count = 0

    def file(self, parsed: Any) -> ProtoFile:
        elements = _by_kind(parsed.file_elements)
        package = next((each.name for each in elements.get("Package", ())), "")
        imports = tuple(each.name for each in elements.get("Import", ()))
        for name in imports:
            if name in self._known:
                self._types.update(self._known[name].types)
            elif is_builtin(name):
                self._add_builtin(name)
            else:
                raise InvalidSchema(f"The import {name!r} is no reference of the schema; files are never fetched.")
        file = ProtoFile(package, parsed.syntax or "proto2", imports, types=self._types)
        declared = [(self._declare_message(each, package, package), each) for each in elements.get("Message", ())]
        file.messages = [message for message, _ in declared]
        file.enums = [self._enum(each, package) for each in elements.get("Enum", ())]
        for message, element in declared:
            self._define(message, element)
        return file

    def _add_builtin(self, name: str) -> None:
        file = builtin_file(name)
        if file is None:
            self._imports_unknown = True
        else:
            self._types.update(file.types)

    # -- names first, since a field may name a type that is declared below it ----------------------

    def _declare_message(self, element: Any, scope: str, package: str) -> MessageType:
        full_name = _joined(scope, element.name)
        message = MessageType(element.name, full_name, package)
        self._add(full_name, message)
        elements = _by_kind(element.elements)
        message.messages = [self._declare_message(each, full_name, package) for each in _inner_messages(elements)]
        message.enums = [self._enum(each, full_name) for each in elements.get("Enum", ())]
        return message

    def _enum(self, element: Any, scope: str) -> EnumType:
        full_name = _joined(scope, element.name)
        values = {int(each.number): each.name for each in _by_kind(element.elements).get("EnumValue", ())}
        if not values:
            raise InvalidSchema(f"The enum {full_name} has no values.")
        enum = EnumType(element.name, full_name, values)
        self._add(full_name, enum)
        return enum

    def _add(self, full_name: str, found: MessageType | EnumType) -> None:
        self._count += 1
        if self._count > TYPES_MAX:
            raise SchemaTooComplex(f"The schema has more than {TYPES_MAX} types.")
        if full_name in self._types:
            raise InvalidSchema(f"{full_name} is defined twice.")
        self._types[full_name] = found

    # -- then fields -------------------------------------------------------------------------------

    def _define(self, message: MessageType, element: Any) -> None:
        elements = _by_kind(element.elements)
        for field in self._fields(message, elements):
            if not 1 <= field.number <= _FIELD_NUMBER_MAX:
                raise InvalidSchema(f"The field {message.full_name}.{field.name} has the number {field.number}.")
            if field.number in message.fields:
                raise InvalidSchema(f"The number {field.number} stands twice in {message.full_name}.")
            message.fields[field.number] = field
        names = [field.name for field in message.fields.values()]
        if len(set(names)) < len(names):
            raise InvalidSchema(f"A field of {message.full_name} is defined twice.")
        for inner, inner_element in zip(message.messages, _inner_messages(elements), strict=True):
            self._define(inner, inner_element)

    def _fields(self, message: MessageType, elements: Mapping[str, list[Any]]) -> Iterator[MessageField]:
        yield from (self._field(message, each) for each in elements.get("Field", ()))
        yield from (self._group(message, each) for each in elements.get("Group", ()))
        for each in elements.get("MapField", ()):
            if SCALAR_GROUPS.get(each.key_type) in (None, "float", "double") or each.key_type == "bytes":
                raise InvalidSchema(f"A map has no keys of type {each.key_type}, in {message.full_name}.{each.name}.")
            value = self._type(each.value_type, message.full_name)
            yield MessageField(each.name, int(each.number), MapOf(Scalar(each.key_type), value))
        for oneof in elements.get("OneOf", ()):
            message.oneofs.append(oneof.name)
            inner = _by_kind(oneof.elements)
            yield from (self._field(message, each, oneof.name) for each in inner.get("Field", ()))
            yield from (self._group(message, each, oneof.name) for each in inner.get("Group", ()))

    def _field(self, message: MessageType, element: Any, oneof: str | None = None) -> MessageField:
        label = element.cardinality.value.lower() if element.cardinality is not None else None
        return MessageField(element.name, int(element.number), self._type(element.type, message.full_name), label, oneof)

    def _group(self, message: MessageType, element: Any, oneof: str | None = None) -> MessageField:
        label = element.cardinality.value.lower() if element.cardinality is not None else None
        type_ = Named(_joined(message.full_name, element.name))
        return MessageField(element.name.lower(), int(element.number), type_, label, oneof, is_group=True)

    def _type(self, name: str, scope: str) -> FieldType:
        if name in SCALAR_GROUPS:
            return Scalar(name)
        found = _resolved(name, scope, self._types)
        if found is not None:
            return Named(found)
        absolute = name.lstrip(".")
        if self._imports_unknown and absolute.startswith(("google.", "confluent.")):
            return Named(absolute)
        raise InvalidSchema(f"{name!r}, used in {scope}, is no type of this file or of its references.")


def _resolved(name: str, scope: str, types: Mapping[str, MessageType | EnumType]) -> str | None:
    if name.startswith("."):
        return name[1:] if name[1:] in types else None
    parts = scope.split(".") if scope else []
    candidates = (_joined(".".join(parts[:count]), name) for count in range(len(parts), -1, -1))
    return next((each for each in candidates if each in types), None)


def _inner_messages(elements: Mapping[str, list[Any]]) -> list[Any]:
    """Nested messages; a group is one too, and a field at the same time."""
    groups = [
        *elements.get("Group", ()),
        *(each for oneof in elements.get("OneOf", ()) for each in _by_kind(oneof.elements).get("Group", ())),
    ]
    return [*elements.get("Message", ()), *groups]


def _by_kind(elements: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for each in elements:
        found.setdefault(type(each).__name__, []).append(each)
    return found


def _joined(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
