"""Apache Kafka's message schemas, read out of its jars.

Only what decides bytes or meaning is kept. Two of Kafka's own rules are applied on the way: a
tagged field without versions has its tagged versions, and a default written as JSON's ``null`` is
no default at all (only the text ``"null"`` means null).
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from barnabas.wire.versions import ALWAYS, Versions, parse_versions
from peers.apache_kafka import JARS

_COMMENT_LINE = re.compile(r"^\s*//.*$", re.MULTILINE)
_SCHEMA_FOLDERS = ("common/message/", "common/metadata/", "message/")


@dataclass(frozen=True, slots=True)
class SchemaField:
    """``type`` is Kafka's text without the brackets; ``fields`` are those of a struct, None for a
    primitive."""

    name: str
    type: str
    is_array: bool
    fields: tuple[SchemaField, ...] | None
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: str
    ignorable: bool
    flexible: Versions


@dataclass(frozen=True, slots=True)
class Schema:
    name: str
    kind: str
    key: int | None
    versions: Versions
    flexible: Versions
    latest_is_unstable: bool
    fields: tuple[SchemaField, ...]


@lru_cache(maxsize=1)
def live_schemas() -> dict[str, Schema]:
    """By name, without those whose versions have all been removed."""
    schemas = [_schema(each) for each in _documents() if each["validVersions"] != "none"]
    by_name = {each.name: each for each in schemas}
    assert len(by_name) == len(schemas), "two schemas share a name"
    return by_name


def _documents() -> Iterator[Any]:
    for jar in sorted(JARS.glob("kafka-*.jar")):
        if jar.name.startswith("kafka-streams-"):
            continue  # Its messages are between members of an application, and none of a broker.
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".json") and name.startswith(_SCHEMA_FOLDERS):
                    yield json.loads(_COMMENT_LINE.sub("", archive.read(name).decode()))


def _schema(document: Any) -> Schema:
    structs = {each["name"]: each["fields"] for each in document.get("commonStructs", [])}
    _collect_structs(document["fields"], structs)
    return Schema(
        name=document["name"],
        kind=document["type"],
        key=document.get("apiKey"),
        versions=parse_versions(document["validVersions"]),
        flexible=parse_versions(document["flexibleVersions"]),
        latest_is_unstable=document.get("latestVersionUnstable", False),
        fields=tuple(_field(each, structs) for each in document["fields"]),
    )


def _collect_structs(fields: Any, structs: dict[str, Any]) -> None:
    """A struct is described where it first appears and may be named again further down."""
    for each in fields:
        if "fields" in each:
            structs[each["type"].removeprefix("[]")] = each["fields"]
            _collect_structs(each["fields"], structs)


def _field(described: Any, structs: dict[str, Any]) -> SchemaField:
    kind = described["type"].removeprefix("[]")
    inside = structs.get(kind)
    tagged = described.get("taggedVersions")
    default = described.get("default")
    return SchemaField(
        name=described["name"],
        type=kind,
        is_array=described["type"].startswith("[]"),
        fields=None if inside is None else tuple(_field(each, structs) for each in inside),
        versions=parse_versions(described.get("versions", tagged)),
        nullable=parse_versions(described.get("nullableVersions")),
        tagged=parse_versions(tagged),
        tag=described.get("tag"),
        default="" if default is None else default if isinstance(default, str) else json.dumps(default),
        ignorable=described.get("ignorable", False),
        flexible=parse_versions(described["flexibleVersions"]) if "flexibleVersions" in described else ALWAYS,
    )
