"""The canonical text of a ``.proto`` file: what registries store and compare.

The layout is that of Confluent's registry: no comments, messages before enums, in each of them
reserved numbers, options, fields, oneofs, groups, extensions and nested types, in this order. The
normal form also sorts what may stand in any order and gives types their full names. It keeps the
order of messages: serializers number messages by their position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

_TAG_MAX: Final = 2**29 - 1
_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
}

# The full name of a type, from its name in the file and the scope in which it stands.
Resolve = Callable[[str, str], str]


def printed(file: Any, *, resolve: Resolve | None = None) -> str:
    """``resolve`` asks for the normal form."""
    return _Printer(resolve).file(file)


class _Printer:
    def __init__(self, resolve: Resolve | None) -> None:
        self._resolve = resolve
        self._normal = resolve is not None

    # -- a file and its types ----------------------------------------------------------------------

    def file(self, file: Any) -> str:
        found = _by_kind(file.file_elements)
        lines = []
        if file.syntax is not None and not (self._normal and file.syntax == "proto2"):
            lines.append(f'syntax = "{file.syntax}";\n')
        elif file.edition is not None:
            lines.append(f'edition = "{file.edition}";\n')
        package = next((each.name for each in found.get("Package", ())), "")
        if package:
            lines.append(f"package {package};\n")
        imports = found.get("Import", [])
        sections = [
            [*self._imports(each for each in imports if not each.public), *self._imports(each for each in imports if each.public)],
            [f"option {each};\n" for each in self._options(found.get("Option", ()))],
            [*self._messages(found.get("Message", ()), package), *self._enums(found.get("Enum", ()))],
            [self._extension(each, package) for each in found.get("Extension", ())],
            [self._service(each, package) for each in found.get("Service", ())],
        ]
        return "".join(lines) + "".join("\n" + "".join(section) for section in sections if section)

    def _imports(self, imports: Iterable[Any]) -> list[str]:
        lines = [f'import {"public " if each.public else ""}"{each.name}";\n' for each in imports]
        return sorted(set(lines)) if self._normal else lines

    def _messages(self, messages: Iterable[Any], scope: str) -> list[str]:
        return [self._message(each, f"{scope}.{each.name}" if scope else each.name) for each in messages]

    def _message(self, message: Any, scope: str) -> str:
        return f"message {message.name} {{{self._body(message.elements, scope)}}}\n"

    def _body(self, elements: Iterable[Any], scope: str) -> str:
        found = _by_kind(elements)
        fields = [*found.get("Field", ()), *found.get("MapField", ())]
        if not self._normal:
            fields = [each for each in elements if type(each).__name__ in ("Field", "MapField")]
        sections = [
            self._reserved(found.get("Reserved", ())),
            [f"option {each};\n" for each in self._options(found.get("Option", ()))],
            [self._field(each, scope) for each in self._by_number(fields)],
            self._oneofs(found.get("OneOf", ()), scope),
            [self._group(each, scope) for each in self._by_number(found.get("Group", ()))],
            self._extension_ranges(found.get("ExtensionRange", ())),
            [self._extension(each, scope) for each in found.get("Extension", ())],
            [*self._messages(found.get("Message", ()), scope), *self._enums(found.get("Enum", ()))],
        ]
        return "".join("\n" + "".join(map(_indented, section)) for section in sections if section)

    def _enums(self, enums: Iterable[Any]) -> list[str]:
        return [self._enum(each) for each in enums]

    def _enum(self, enum: Any) -> str:
        found = _by_kind(enum.elements)
        values = found.get("EnumValue", [])
        if self._normal:
            values = sorted(values, key=lambda each: (int(each.number), each.name))
        body = [
            *self._reserved(found.get("EnumReserved", ())),
            *(f"option {each};\n" for each in self._options(found.get("Option", ()))),
            *(f"{each.name} = {each.number}{self._compact(each.options)};\n" for each in values),
        ]
        return f"enum {enum.name} {{" + ("\n" + "".join(map(_indented, body)) if body else "") + "}\n"

    # -- fields ------------------------------------------------------------------------------------

    def _field(self, field: Any, scope: str) -> str:
        if type(field).__name__ == "MapField":
            kind = f"map<{field.key_type}, {self._type(field.value_type, scope)}>"
            label = ""
        else:
            kind = self._type(field.type, scope)
            label = _label(field)
        return f"{label}{kind} {field.name} = {field.number}{self._compact(field.options)};\n"

    def _group(self, group: Any, scope: str) -> str:
        inner = f"{scope}.{group.name}"
        return f"{_label(group)}group {group.name} = {group.number} {{{self._body(group.elements, inner)}}}\n"

    def _oneofs(self, oneofs: Iterable[Any], scope: str) -> list[str]:
        if not self._normal:
            return [self._oneof(each, scope) for each in oneofs]
        filled = [each for each in oneofs if _by_kind(each.elements).get("Field")]
        return [self._oneof(each, scope) for each in sorted(filled, key=_first_number)]

    def _oneof(self, oneof: Any, scope: str) -> str:
        found = _by_kind(oneof.elements)
        sections = [
            [f"option {each};\n" for each in self._options(found.get("Option", ()))],
            [self._field(each, scope) for each in self._by_number(found.get("Field", ()))],
            [self._group(each, scope) for each in self._by_number(found.get("Group", ()))],
        ]
        return f"oneof {oneof.name} {{" + "".join("\n" + "".join(map(_indented, each)) for each in sections if each) + "}\n"

    def _extension(self, extension: Any, scope: str) -> str:
        found = _by_kind(extension.elements)
        body = [self._field(each, scope) for each in self._by_number(found.get("Field", ()))]
        name = self._type(extension.typeName, scope)
        return f"extend {name} {{" + ("\n" + "".join(map(_indented, body)) if body else "") + "}\n"

    def _by_number(self, elements: Iterable[Any]) -> list[Any]:
        return sorted(elements, key=lambda each: int(each.number)) if self._normal else list(elements)

    def _type(self, name: str, scope: str) -> str:
        return self._resolve(name, scope) if self._resolve is not None else name

    # -- reserved numbers and extensions -----------------------------------------------------------

    def _reserved(self, reserved: Iterable[Any]) -> list[str]:
        values = [[*map(self._range, each.ranges), *(f'"{name}"' for name in each.names)] for each in reserved]
        if self._normal:
            values = [[each] for each in sorted((value for group in values for value in group), key=_reserved_order)]
        return [f"reserved {', '.join(group)};\n" for group in values]

    def _extension_ranges(self, extensions: Iterable[Any]) -> list[str]:
        if not self._normal:
            return [f"extensions {', '.join(map(self._range, each.ranges))}{self._compact(each.options)};\n" for each in extensions]
        single = [(self._range(text), each.options) for each in extensions for text in each.ranges]
        single.sort(key=lambda each: _reserved_order(each[0]))
        return [f"extensions {text}{self._compact(options)};\n" for text, options in single]

    def _range(self, text: str) -> str:
        first, _, last = text.partition(" to ")
        if not last:
            return first
        if self._normal and first == last:
            return first
        return f"{first} to {'max' if last.isdecimal() and int(last) >= _TAG_MAX else last}"

    # -- services and options ----------------------------------------------------------------------

    def _service(self, service: Any, scope: str) -> str:
        found = _by_kind(service.elements)
        sections = [
            [f"option {each};\n" for each in self._options(found.get("Option", ()))],
            [self._method(each, scope) for each in found.get("Method", ())],
        ]
        return f"service {service.name} {{" + "".join("\n" + "".join(map(_indented, each)) for each in sections if each) + "}\n"

    def _method(self, method: Any, scope: str) -> str:
        taken, given = (
            f"{'stream ' if each.stream else ''}{self._type(each.type, scope)}" for each in (method.input_type, method.output_type)
        )
        options = self._options(_by_kind(method.elements).get("Option", ()))
        body = " {\n" + "".join(_indented(f"option {each};\n") for each in options) + "}" if options else ""
        return f"rpc {method.name} ({taken}) returns ({given}){body};\n"

    def _options(self, options: Iterable[Any]) -> list[str]:
        lines = [f"{each.name} = {self._value(each.value)}" for each in options]
        return sorted(lines) if self._normal else lines

    def _compact(self, options: Iterable[Any]) -> str:
        lines = self._options(options)
        if not lines:
            return ""
        if len(lines) == 1:
            return f" [{lines[0]}]"
        return " [\n" + ",\n".join(_indented(each) for each in lines) + "\n]"

    def _value(self, value: Any) -> str:
        match value:
            case bool():
                return "true" if value else "false"
            case str():
                return '"' + "".join(_ESCAPES.get(character, character) for character in value) + '"'
            case int() | float():
                return str(value)
            case list():
                return "[\n" + ",\n".join(_indented(self._value(each)) for each in value) + "\n]"
        if hasattr(value, "elements"):
            fields = [each for each in value.elements if hasattr(each, "value")]
            if self._normal:
                fields = sorted(fields, key=lambda each: str(each.name))
            return "{\n" + ",\n".join(_indented(f"{each.name}: {self._value(each.value)}") for each in fields) + "\n}"
        return str(getattr(value, "name", value))


def _label(element: Any) -> str:
    return f"{element.cardinality.value.lower()} " if element.cardinality is not None else ""


def _first_number(oneof: Any) -> int:
    return min(int(each.number) for each in _by_kind(oneof.elements)["Field"])


def _reserved_order(text: str) -> tuple[int, str]:
    first = text.partition(" ")[0]
    return (int(first) if first.lstrip("-").isdecimal() else 2**31 - 1, text)


def _indented(text: str) -> str:
    return "".join(f"  {line}" for line in _lines(text))


def _lines(text: str) -> Iterator[str]:
    yield from text.splitlines(keepends=True)


def _by_kind(elements: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for each in elements:
        found.setdefault(type(each).__name__, []).append(each)
    return found
