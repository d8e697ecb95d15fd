"""Metadata and rules of a schema. The registry only keeps them; clients execute rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from barnabas.registry.core.errors import invalid_rule_set, unprocessable

_KINDS: Final = ("TRANSFORM", "CONDITION")
_MIGRATION_MODES: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_DOMAIN_MODES: Final = ("WRITE", "READ", "WRITEREAD")
_MODES: Final = {"migrationRules": _MIGRATION_MODES, "domainRules": _DOMAIN_MODES, "encodingRules": _DOMAIN_MODES}
NAME_CHARACTERS_MAX: Final = 64
RULES_MAX: Final = 1_000


def checked_metadata(read: Any) -> Mapping[str, Any] | None:
    if read is None:
        return None
    if not isinstance(read, dict):
        raise unprocessable("The metadata is no object.")
    tags, properties, sensitive = read.get("tags") or {}, read.get("properties") or {}, read.get("sensitive") or []
    if not isinstance(tags, dict) or not all(_texts(each) for each in tags.values()):
        raise unprocessable("The tags of the metadata are lists of texts by path.")
    if not isinstance(properties, dict) or not all(isinstance(each, str) for each in properties.values()):
        raise unprocessable("The properties of the metadata are texts by name.")
    if not _texts(sensitive):
        raise unprocessable("The sensitive properties of the metadata are a list of names.")
    found = {"tags": tags, "properties": properties, "sensitive": sensitive}
    # Empty metadata is more than none: the schema then takes none from the version before it.
    return {name: value for name, value in found.items() if value}


def checked_rule_set(read: Any) -> Mapping[str, Any] | None:
    if read is None:
        return None
    if not isinstance(read, dict):
        raise unprocessable("The rule set is no object.")
    names: set[str] = set()
    found: dict[str, Any] = {}
    for kind, modes in _MODES.items():
        rules = read.get(kind) or []
        if not isinstance(rules, list) or len(rules) > RULES_MAX:
            raise invalid_rule_set(f"The {kind} are a list of at most {RULES_MAX} rules")
        for reason in (each for rule in rules for each in _faults(rule, names, modes)):
            raise invalid_rule_set(reason)
        if rules:
            found[kind] = rules
    enabled = read.get("enableAt")
    if enabled:
        if not isinstance(enabled, str):
            raise invalid_rule_set("The field enableAt is a text")
        found["enableAt"] = enabled
    return found


def _faults(rule: Any, names: set[str], modes: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(rule, dict):
        yield "A rule is an object"
        return
    name = rule.get("name")
    if not isinstance(name, str) or not name or len(name) > NAME_CHARACTERS_MAX or not name.replace("_", "a").replace("-", "a").isalnum():
        yield f"Invalid rule name {name!r}"
        return
    if name in names:
        yield f"Found rule with duplicate name '{name}'"
    names.add(name)
    if rule.get("kind") not in _KINDS:
        yield f"The kind of rule '{name}' is TRANSFORM or CONDITION"
    if rule.get("mode") not in modes:
        yield f"The mode of rule '{name}' is one of {', '.join(modes)}"
    if not isinstance(rule.get("type"), str) or not rule["type"]:
        yield f"The rule '{name}' has no type"
    if not _texts(rule.get("tags") or []):
        yield f"The tags of rule '{name}' are a list of texts"
    params = rule.get("params") or {}
    if not isinstance(params, dict) or not all(isinstance(each, str) for each in params.values()):
        yield f"The params of rule '{name}' are texts by name"


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
