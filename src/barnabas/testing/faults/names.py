"""Names of APIs, errors and operations as users write them. The error for an unknown one lists the
nearest names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Operation
from barnabas.testing.faults.error_responses import refusable_apis
from barnabas.wire.apis import ApiKey

_NEAR_NAMES_MAX = 3


def api_named(name: str | int) -> ApiKey:
    """``"OffsetCommit"``, ``"offset_commit"``, ``"OFFSET_COMMIT"`` or ``8``."""
    apis = {_folded(key.api_name): key for key in refusable_apis()}
    found = next((key for key in apis.values() if key == name), None) if isinstance(name, int) else apis.get(_folded(name))
    if found is None:
        raise ValueError(_unknown("API", name, {folded: key.api_name for folded, key in apis.items()}))
    return found


def error_named(name: str | int) -> ErrorCode:
    """``"NOT_ENOUGH_REPLICAS"``, ``"not enough replicas"`` or ``19``. Also a ``KafkaError`` of
    confluent-kafka, whose constants are these numbers."""
    codes = {_folded(code.name): code for code in ErrorCode if code is not ErrorCode.NONE}
    if isinstance(name, int):
        found = next((code for code in codes.values() if code == name), None)
    else:
        found = codes.get(_folded(name)) or codes.get(f"{_folded(name)}exception")
    if found is None:
        raise ValueError(_unknown("error code", name, {folded: code.name for folded, code in codes.items()}))
    return found


def operation_named(name: str) -> Operation:
    """``"Read"``, ``"READ"`` or ``"DescribeConfigs"``: what an ACL allows."""
    operations = {_folded(each.name): each for each in Operation if each > Operation.ANY}
    found = operations.get(_folded(name))
    if found is None:
        raise ValueError(_unknown("operation", name, {folded: each.name for folded, each in operations.items()}))
    return found


def _folded(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _unknown(kind: str, name: str | int, known: dict[str, str]) -> str:
    near = get_close_matches(_folded(str(name)), known, n=_NEAR_NAMES_MAX, cutoff=0.5)
    advice = f"Did you mean {_alternatives(known[each] for each in near)}?" if near else f"Known names: {', '.join(known.values())}."
    return f"Kafka has no {kind} {name!r}. {advice}"


def _alternatives(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
