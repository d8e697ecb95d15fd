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
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from barnabas.pipelines.errors import DeclarationError

_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\})")
# People write these files; a file with a million lines is not a pipeline.
FILE_SIZE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    line: int

    def error(self, sentence: str) -> DeclarationError:
        return DeclarationError(self.path, self.line, sentence)


@dataclass(frozen=True, slots=True)
class Located:
    """A value and its place. Mappings and lists hold ``Located`` values; code may put in any
    object, such as a function."""

    value: Any
    place: Place


Mapped: TypeAlias = Mapping[str, Located]


def read_yaml(path: str, environment: Mapping[str, str] | None = None) -> Located:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(FILE_SIZE_BYTES_MAX + 1)
    except OSError as error:
        raise DeclarationError(path, 1, f"the file cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DeclarationError(path, 1, "the file is not text in UTF-8.") from error
    if len(text) > FILE_SIZE_BYTES_MAX:
        raise DeclarationError(path, 1, f"the file is larger than {FILE_SIZE_BYTES_MAX} bytes.")
    return parse_yaml(text, path, environment)


def parse_yaml(text: str, path: str, environment: Mapping[str, str] | None = None) -> Located:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise DeclarationError(path, 1, "the file is empty; a pipeline has a name, sources and sinks.")
        return _Reader(loader, path, os.environ if environment is None else environment).located(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise DeclarationError(path, mark.line + 1 if mark else 1, f"this is not YAML: {error.problem or error.context}.") from error
    except yaml.YAMLError as error:
        raise DeclarationError(path, 1, f"this is not YAML: {' '.join(str(error).split())}.") from error
    finally:
        loader.dispose()


def located(value: Any, place: Place) -> Located:
    """A value declared in code, as if a file had it at that place."""
    if isinstance(value, Located):
        return value
    if isinstance(value, Mapping):
        return Located({str(key): located(each, place) for key, each in value.items()}, place)
    if isinstance(value, (list, tuple)):
        return Located([located(each, place) for each in value], place)
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
    def __init__(self, loader: yaml.SafeLoader, path: str, environment: Mapping[str, str]) -> None:
        self._loader = loader
        self._path = path
        self._environment = environment

    def located(self, node: yaml.Node) -> Located:
        place = Place(self._path, node.start_mark.line + 1)
        match node:
            case yaml.MappingNode():
                self._loader.flatten_mapping(node)
                return Located(self._mapping(node), place)
            case yaml.SequenceNode():
                return Located([self.located(each) for each in node.value], place)
            case yaml.ScalarNode():
                return Located(self._scalar(node, place), place)
        raise AssertionError(node)

    def _mapping(self, node: yaml.MappingNode) -> Mapped:
        mapping: dict[str, Located] = {}
        for key, value in node.value:
            place = Place(self._path, key.start_mark.line + 1)
            if not isinstance(key, yaml.ScalarNode):
                raise place.error("a name was expected here, not a list or a mapping.")
            if key.value in mapping:
                raise place.error(f"{key.value!r} is here twice; it was first given on line {mapping[key.value].place.line}.")
            # An error about a value of several lines names the line of its key.
            mapping[key.value] = Located(self.located(value).value, place)
        return mapping

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> Any:
        text = _VARIABLE.sub(lambda match: self._variable(match, place), node.value)
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
