"""Tags inside an Avro schema: names under ``confluent:tags`` of a record or a field.

An *entity* is named by its path: the name of a record, then that of a field, then again that of a
record within it, and so on: ``shop.Order``, ``shop.Order.home`` or ``shop.Order.home.Address.zip``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from barnabas.registry.core.errors import RegistryError, invalid_schema
from barnabas.schemas.json_text import read_json, write_json
from barnabas.schemas.schema import SchemaType

TAGS: Final = "confluent:tags"
RECORD: Final = "sr_record"
FIELD: Final = "sr_field"


class Entity(NamedTuple):
    path: str
    kind: str


def tagged(type_: SchemaType, text: str, added: Mapping[Entity, Iterable[str]], removed: Mapping[Entity, Iterable[str]]) -> str:
    """The text with other tags. Raises a RegistryError for an entity that the schema lacks."""
    if not added and not removed:
        return text
    if type_ is not SchemaType.AVRO:
        raise RegistryError(501, f"Tags can be changed inside Avro schemas, and not inside those of type {type_.value}")
    schema = read_json(text, stored=True)
    for entity in dict.fromkeys([*added, *removed]):
        node = next(_nodes(schema, entity.path.removeprefix("."), entity.kind, ""), None)
        if node is None:
            raise invalid_schema(f"No matching path '{entity.path}' found in the schema")
        gone = set(removed.get(entity, ()))
        tags = [tag for tag in dict.fromkeys([*node.get(TAGS, ()), *added.get(entity, ())]) if tag not in gone]
        node.pop(TAGS, None)
        if tags:
            node[TAGS] = tags
    return write_json(schema)


def _nodes(node: Any, path: str, kind: str, namespace: str) -> Iterator[dict[str, Any]]:
    """The objects that a path names; ``namespace`` is that of the record around them."""
    if isinstance(node, list):
        for branch in node:
            yield from _nodes(branch, path, kind, namespace)
    elif isinstance(node, dict):
        match node.get("type"):
            case "record" | "error":
                yield from _of_record(node, path, kind, namespace)
            case "array" | "map" as container:
                yield from _nodes(node["items" if container == "array" else "values"], path, kind, namespace)
            case dict() | list() as inner:
                yield from _nodes(inner, path, kind, namespace)


def _of_record(node: dict[str, Any], path: str, kind: str, namespace: str) -> Iterator[dict[str, Any]]:
    given = str(node["name"])
    own = given.rpartition(".")[0] if "." in given else str(node.get("namespace", namespace))
    simple = given.rpartition(".")[2]
    for name in dict.fromkeys((f"{own}.{simple}" if own else simple, simple)):
        if path == name and kind == RECORD:
            yield node
        elif path.startswith(f"{name}."):
            rest = path[len(name) + 1 :]
            for field in node["fields"]:
                if rest == field["name"] and kind == FIELD:
                    yield field
                elif rest.startswith(f"{field['name']}."):
                    yield from _nodes(field["type"], rest[len(field["name"]) + 1 :], kind, own)
