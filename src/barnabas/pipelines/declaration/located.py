"""YAML that keeps the place of every value.

``yaml.safe_load`` drops line numbers, and an error without a line is hard to find. So this module
turns the parser's node tree into :class:`Located` values. It substitutes environment variables on
the way: ``${NAME}``, ``${NAME:-default}``; ``$$`` is a dollar. A plain scalar gets its type after
that, so that ``rate: ${RATE}`` is a number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import yaml

from barnabas.pipelines.declaration.findings import INVALID, Findings, FirstMistake
from barnabas.pipelines.errors import DeclarationError

_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\})")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
# People write these files; a file with a million lines is not a pipeline.
FILE_SIZE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    line: int
    column: int | None = None  # from 1; None in code
    field: str = ""  # the path of the value: ``steps[0].sql``

    def error(self, sentence: str) -> DeclarationError:
        return DeclarationError(self.path, self.line, sentence, column=self.column, field=self.field)

    def of(self, name: str | int) -> Place:
        """The same line and column, for a field or an element inside."""
        return replace(self, field=_inside(self.field, name))


def _inside(field: str, name: str | int) -> str:
    if isinstance(name, int):
        return f"{field}[{name}]"
    if _PLAIN_NAME.fullmatch(name) is None:
        return f'{field}["{name}"]'
    return f"{field}.{name}" if field else name


@dataclass(frozen=True, slots=True)
class Located:
    """A value and its place. Mappings and lists hold ``Located`` values; code may put in any
    object, such as a function."""

    value: Any
    place: Place

    def place_of(self, *path: str) -> Place:
        """The place of a field inside, or of the innermost mapping on the way to it."""
        here = self
        for name in path:
            if not isinstance(here.value, dict) or name not in here.value:
                break
            here = here.value[name]
        return here.place


Mapped: TypeAlias = Mapping[str, Located]


def read_yaml(path: str, environment: Mapping[str, str] | None = None, findings: Findings | None = None) -> Located:
    """Without ``findings`` the first mistake is raised."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(FILE_SIZE_BYTES_MAX + 1)
    except OSError as error:
        raise DeclarationError(path, 1, f"the file cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DeclarationError(path, 1, "the file is not text in UTF-8.") from error
    if len(text) > FILE_SIZE_BYTES_MAX:
        raise DeclarationError(path, 1, f"the file is larger than {FILE_SIZE_BYTES_MAX} bytes.")
    return parse_yaml(text, path, environment, findings)


def parse_yaml(text: str, path: str, environment: Mapping[str, str] | None = None, findings: Findings | None = None) -> Located:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise DeclarationError(path, 1, "the file is empty; a pipeline has a name, sources and sinks.")
        reader = _Reader(loader, path, os.environ if environment is None else environment, findings or FirstMistake())
        return reader.located(node, "")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, None)
        raise DeclarationError(path, line, f"this is not YAML: {error.problem or error.context}.", column=column) from error
    except yaml.YAMLError as error:
        raise DeclarationError(path, 1, f"this is not YAML: {' '.join(str(error).split())}.") from error
    finally:
        loader.dispose()


def located(value: Any, place: Place) -> Located:
    """A value declared in code, as if a file had it at that place."""
    if isinstance(value, Located):
        return value
    if isinstance(value, Mapping):
        return Located({str(key): located(each, place.of(str(key))) for key, each in value.items()}, place)
    if isinstance(value, (list, tuple)):
        return Located([located(each, place.of(position)) for position, each in enumerate(value)], place)
    return Located(value, place)


def plain(value: Located) -> Any:
    """Without the places."""
    match value.value:
        case dict() as mapping:
            return {key: plain(each) for key, each in mapping.items()}
        case list() as values:
            return [plain(each) for each in values]
        case scalar:
            return scalar


class _Reader:
    def __init__(self, loader: yaml.SafeLoader, path: str, environment: Mapping[str, str], findings: Findings) -> None:
        self._loader = loader
        self._path = path
        self._environment = environment
        self._findings = findings

    def located(self, node: yaml.Node, field: str) -> Located:
        place = self._place(node, field)
        match node:
            case yaml.MappingNode():
                self._loader.flatten_mapping(node)
                return Located(self._mapping(node, field), place)
            case yaml.SequenceNode():
                return Located([self.located(each, _inside(field, position)) for position, each in enumerate(node.value)], place)
            case yaml.ScalarNode():
                return Located(self._scalar(node, place), place)
        raise AssertionError(node)

    def _place(self, node: yaml.Node, field: str) -> Place:
        return Place(self._path, node.start_mark.line + 1, node.start_mark.column + 1, field)

    def _mapping(self, node: yaml.MappingNode, field: str) -> Mapped:
        mapping: dict[str, Located] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._findings.report(self._place(key, field).error("a name was expected here, not a list or a mapping."))
                continue
            inside = _inside(field, key.value)
            place = self._place(key, inside)
            if key.value in mapping:
                first = mapping[key.value].place.line
                self._findings.report(place.error(f"{key.value!r} is here twice; it was first given on line {first}."))
                continue
            # An error about a value of several lines names the line of its key.
            mapping[key.value] = Located(self.located(value, inside).value, place)
        return mapping

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> Any:
        try:
            text = _VARIABLE.sub(lambda match: self._variable(match, place), node.value)
        except DeclarationError as missing:
            self._findings.report(missing)
            return INVALID
        tag = node.tag
        if node.style is None and text != node.value:
            tag = self._loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        return self._loader.construct_object(yaml.ScalarNode(tag, text, node.start_mark, node.end_mark))

    def _variable(self, match: re.Match[str], place: Place) -> str:
        name = match["name"]
        if name is None:
            return "$"
        # As in a shell: ``:-`` also stands in for a variable that is empty.
        found = self._environment.get(name) or match["default"]
        if found is None and name in self._environment:
            return ""
        if found is None:
            raise place.error(f"the environment has no {name}; set it, or give a default as in ${{{name}:-default}}.")
        return found
