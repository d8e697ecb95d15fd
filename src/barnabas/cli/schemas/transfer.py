"""All schemas of a registry as JSON lines, and back again with the same ids and versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from barnabas.cli.errors import Refused
from barnabas.cli.schemas.registry_requests import Registry
from barnabas.registry_client.requests import escaped

_FIELDS: Final = ("schema", "schemaType", "references", "metadata", "ruleSet", "id", "version")


def exported(registry: Registry) -> Iterator[dict[str, Any]]:
    """Every version, schemas before those that refer to them."""
    versions = registry.ask("GET", "/schemas", query={"subjectPrefix": ":*:"})
    # A schema exists before another one can refer to it, so ids rise along references.
    yield from sorted(versions, key=lambda each: (each["id"], each["subject"], each["version"]))


def read_lines(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read = json.loads(line)
        except ValueError as error:
            raise Refused(f"Line {number} is no JSON: {error}.") from error
        if not isinstance(read, dict) or not all(name in read for name in ("subject", "schema", "id", "version")):
            raise Refused(f"Line {number} has no subject, schema, id or version.")
        yield read


def import_all(registry: Registry, versions: Iterable[dict[str, Any]], done: Callable[[str], None]) -> int:
    """Put the registry into the mode IMPORT, register everything, and restore its mode."""
    mode = registry.ask("GET", "/mode")["mode"]
    registry.ask("PUT", "/mode", {"mode": "IMPORT"})
    count = 0
    try:
        for each in versions:
            body = {name: each[name] for name in _FIELDS if each.get(name) is not None}
            registry.ask("POST", f"/subjects/{escaped(each['subject'])}/versions", body)
            done(f"{each['subject']} version {each['version']}")
            count += 1
    finally:
        registry.ask("PUT", "/mode", {"mode": mode})
    return count
