"""The digest that identifies a schema, as Confluent's registry computes it.

MD5 is no protection here: it names content, as a checksum does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from barnabas.schemas.schema import Reference

_RULES = ("migrationRules", "domainRules", "encodingRules")
_RULE_TEXTS_FIRST = ("name", "doc", "kind", "mode", "type")
_RULE_TEXTS_LAST = ("expr", "onSuccess", "onFailure")


def digest_of(text: str, references: Iterable[Reference], metadata: Mapping[str, Any] | None, rule_set: Mapping[str, Any] | None) -> bytes:
    md5 = hashlib.md5(text.encode(), usedforsecurity=False)
    for reference in references:
        md5.update(reference.name.encode())
        md5.update(reference.subject.encode())
        md5.update(reference.version.to_bytes(4, "big", signed=True))
    if metadata is not None:
        md5.update(b"\x01")
        for piece in _of_metadata(metadata):
            md5.update(piece)
    if rule_set is not None:
        md5.update(b"\x01")
        for piece in _of_rule_set(rule_set):
            md5.update(piece)
    return md5.digest()


def guid_of(md5: bytes) -> str:
    return str(UUID(bytes=md5))


def _of_metadata(metadata: Mapping[str, Any]) -> Iterator[bytes]:
    # Names are in order, since registries keep them in sorted maps.
    for key, values in sorted((metadata.get("tags") or {}).items()):
        yield key.encode()
        yield from (value.encode() for value in sorted(values))
    for key, value in sorted((metadata.get("properties") or {}).items()):
        yield key.encode()
        yield value.encode()
    yield from (each.encode() for each in sorted(metadata.get("sensitive") or ()))


def _of_rule_set(rule_set: Mapping[str, Any]) -> Iterator[bytes]:
    for kind in _RULES:
        for rule in rule_set.get(kind) or ():
            yield from _of_rule(rule)
    if rule_set.get("enableAt"):
        yield str(rule_set["enableAt"]).encode()


def _of_rule(rule: Mapping[str, Any]) -> Iterator[bytes]:
    yield from (str(rule[name]).encode() for name in _RULE_TEXTS_FIRST if rule.get(name) is not None)
    yield from (tag.encode() for tag in sorted(rule.get("tags") or ()))
    for key, value in sorted((rule.get("params") or {}).items()):
        yield key.encode()
        yield value.encode()
    yield from (str(rule[name]).encode() for name in _RULE_TEXTS_LAST if rule.get(name) is not None)
    if rule.get("disabled"):
        yield b"\x01"
