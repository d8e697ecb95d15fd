"""Two responses side by side, field by field.

A response becomes a tree of plain values, with only the fields its version has. Every leaf has a
path such as ``topics[].name``, and :mod:`~tests.conformance.differential.intended` says of the
paths that may differ how, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.wire.declare import ArrayOf, FieldType, StructOf, declaration_of
from tests.conformance.differential.intended import Keyed, rule_for
from tests.conformance.differential.raw_client import Closed


class Deviation(NamedTuple):
    path: str
    kafka: Any
    barnabas: Any


def plain(message: Any, version: int) -> Any:
    """A message as dictionaries and lists, without the fields that ``version`` does not carry."""
    if isinstance(message, Closed):
        return message
    return {
        each.name: _plain_value(each.type, getattr(message, each.name), version)
        for each in declaration_of(type(message)).fields
        if version in each.options.versions
    }


def _plain_value(kind: FieldType, value: Any, version: int) -> Any:
    if value is None:
        return None
    match kind:
        case ArrayOf(element):
            return [_plain_value(element, each, version) for each in value]
        case StructOf():
            return plain(value, version)
        case _:
            return bytes(value) if isinstance(value, memoryview | bytearray) else value


def deviations(api: str, kafka: Any, barnabas: Any, allowed: Mapping[str, str]) -> Iterator[Deviation]:
    """The differences beyond the table; ``allowed`` holds the paths that differ in this one case,
    each with its reason."""
    yield from _compare(api, "", "", kafka, barnabas, allowed)


def _compare(api: str, path: str, shown: str, kafka: Any, barnabas: Any, allowed: Mapping[str, str]) -> Iterator[Deviation]:
    """Rules apply to ``path``; ``shown`` also names the item of a list, where items have names."""
    if path in allowed:
        return
    rule = rule_for(api, path)
    if rule is not None:
        kafka, barnabas = rule.seen(kafka), rule.seen(barnabas)
    if isinstance(kafka, Keyed) and isinstance(barnabas, Keyed):
        for name in kafka | barnabas:
            yield from _compare(api, f"{path}[]", f"{shown}[{name}]", kafka.get(name), barnabas.get(name), allowed)
    elif isinstance(kafka, dict) and isinstance(barnabas, dict):
        for name in kafka | barnabas:
            dot = "." if path else ""
            yield from _compare(api, f"{path}{dot}{name}", f"{shown}{dot}{name}", kafka.get(name), barnabas.get(name), allowed)
    elif isinstance(kafka, list) and isinstance(barnabas, list) and len(kafka) == len(barnabas):
        for theirs, ours in zip(kafka, barnabas, strict=True):
            yield from _compare(api, f"{path}[]", f"{shown}[]", theirs, ours, allowed)
    elif kafka != barnabas:
        yield Deviation(shown, *_named_apart(kafka, barnabas))


def _named_apart(kafka: Any, barnabas: Any) -> tuple[Any, Any]:
    """Of two long lists, only the items that one has and the other does not."""
    if not (isinstance(kafka, list) and isinstance(barnabas, list)):
        return kafka, barnabas
    theirs, ours = [each for each in kafka if each not in barnabas], [each for each in barnabas if each not in kafka]
    return (theirs, ours) if theirs or ours else (kafka, barnabas)


def described(found: Sequence[tuple[int, Deviation]]) -> str:
    """For a failing test: one line a deviation, equal ones of several versions together."""
    versions: dict[str, list[int]] = {}
    for version, (path, kafka, barnabas) in found:
        versions.setdefault(f"{path or 'the whole answer'}: Kafka {_short(kafka)}, Barnabas {_short(barnabas)}", []).append(version)
    return "\n".join(f"v{'/'.join(map(str, sorted(set(at))))} {text}" for text, at in versions.items())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"
