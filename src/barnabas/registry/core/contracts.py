"""Metadata and rules that a registration inherits.

A registration that names no metadata takes that of the latest version, and likewise rules. Then the
settings of the subject apply: ``defaultMetadata`` and ``defaultRuleSet`` below it,
``overrideMetadata`` and ``overrideRuleSet`` above it. Rules of the same name replace each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from barnabas.registry.core.scope import config_in_scope
from barnabas.registry.core.state import RegistryState

if TYPE_CHECKING:
    from barnabas.registry.core.registering import Registration

# A property of the metadata that repeats the number of the version; the registry keeps it right.
VERSION_PROPERTY: Final = "confluent:version"
_RULES: Final = ("migrationRules", "domainRules", "encodingRules")

Metadata = Mapping[str, Any]
RuleSet = Mapping[str, Any]


def inherited(state: RegistryState, subject: str, wanted: Registration, *, version: int | None) -> Registration:
    """The registration with the metadata and the rules that it gets. ``version`` is the number that
    the schema is about to have; None if it gets none, as in a lookup.
    """
    latest, config = state.latest(subject), config_in_scope(state, subject)
    metadata, rule_set = wanted.metadata, wanted.rule_set
    if latest is not None:
        metadata = latest.metadata if metadata is None else metadata
        rule_set = latest.rule_set if rule_set is None else rule_set
    metadata = merged_metadata(merged_metadata(config.get("defaultMetadata"), metadata), config.get("overrideMetadata"))
    rule_set = merged_rules(merged_rules(config.get("defaultRuleSet"), rule_set), config.get("overrideRuleSet"))
    if version is not None and (wanted.version > 0 or VERSION_PROPERTY in ((metadata or {}).get("properties") or {})):
        metadata = numbered(metadata, version)
    return replace(wanted, metadata=metadata, rule_set=rule_set)


def changes_contracts(state: RegistryState, subject: str) -> bool:
    """Whether the settings of a subject add to the metadata or the rules of every registration."""
    config = config_in_scope(state, subject)
    return any(config.get(name) is not None for name in ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet"))


def numbered(metadata: Metadata | None, version: int) -> Metadata:
    given = metadata or {}
    return {**given, "properties": {**(given.get("properties") or {}), VERSION_PROPERTY: str(version)}}


def without_version(metadata: Metadata | None) -> Metadata | None:
    """The metadata without the property that differs from version to version."""
    properties = dict((metadata or {}).get("properties") or {})
    if metadata is None or VERSION_PROPERTY not in properties:
        return metadata
    del properties[VERSION_PROPERTY]
    rest = {name: value for name, value in metadata.items() if name != "properties"}
    return {**rest, **({"properties": properties} if properties else {})}


def merged_metadata(below: Metadata | None, above: Metadata | None) -> Metadata | None:
    if below is None or above is None:
        return below if above is None else above
    tags = {path: list(names) for path, names in (below.get("tags") or {}).items()}
    for path, names in (above.get("tags") or {}).items():
        tags[path] = list(dict.fromkeys([*tags.get(path, ()), *names]))
    properties = {**(below.get("properties") or {}), **(above.get("properties") or {})}
    sensitive = list(dict.fromkeys([*(below.get("sensitive") or ()), *(above.get("sensitive") or ())]))
    found = {"tags": tags, "properties": properties, "sensitive": sensitive}
    return {name: value for name, value in found.items() if value}


def merged_rules(below: RuleSet | None, above: RuleSet | None) -> RuleSet | None:
    if below is None or above is None:
        return below if above is None else above
    found: dict[str, Any] = {}
    for kind in _RULES:
        upper = above.get(kind) or []
        names = {rule["name"] for rule in upper}
        rules = [*(rule for rule in below.get(kind) or [] if rule["name"] not in names), *upper]
        if rules:
            found[kind] = rules
    enabled = above.get("enableAt") or below.get("enableAt")
    return {**found, **({"enableAt": enabled} if enabled else {})}


def without_rules(rule_set: RuleSet | None, names: frozenset[str]) -> RuleSet | None:
    if rule_set is None:
        return None
    kept = {kind: [rule for rule in rule_set.get(kind) or [] if rule["name"] not in names] for kind in _RULES}
    rest = {name: value for name, value in rule_set.items() if name not in _RULES}
    return {**{kind: rules for kind, rules in kept.items() if rules}, **rest}
