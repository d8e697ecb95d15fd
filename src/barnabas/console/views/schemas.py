"""Schemas: subjects of the registry, their versions and the differences between two."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from barnabas.console.access import registry
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.core.line_difference import DifferenceLine, line_difference
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.core.subject import LEVELS, MODES, Schema, SubjectRow, SubjectVersion, subjects_of_topic
from barnabas.console.errors import NotFound
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import view
from barnabas.console.web.parameters import Parameter


@dataclass(frozen=True, slots=True)
class RegistryRules:
    """Settings of the registry, or of one subject. None: the person may not see it."""

    level: str | None
    mode: str | None
    has_own_level: bool
    has_own_mode: bool
    levels: list[str]
    modes: list[str]


@dataclass(frozen=True, slots=True)
class SubjectList:
    search: str
    deleted: bool
    page: Page[SubjectRow]
    rules: RegistryRules | None
    problem: str | None
    """Why there is no list: the cluster has no registry here."""


@dataclass(frozen=True, slots=True)
class Referrer:
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class SubjectView:
    subject: str
    versions: list[SubjectVersion]
    schema: Schema
    is_deleted: bool
    """Whether the version that is shown is soft-deleted."""
    compared: int | None
    difference: list[DifferenceLine]
    """Between the version ``compared`` and this one."""
    referrers: list[Referrer]
    rules: RegistryRules


@dataclass(frozen=True, slots=True)
class TopicSchemas:
    topic: str
    subjects: list[SubjectRow]
    problem: str | None


async def list_subjects(call: Call) -> SubjectList:
    client, search, deleted = call.cluster, call.text("search"), call.flag("deleted")
    if not client.schemas.has_registry:
        return SubjectList(search, deleted, page_of([], 1, call.number("size")), None, registry.NO_REGISTRY)
    active, everything, rules = await asyncio.gather(
        registry.subject_names(client), registry.subject_names(client, deleted=deleted), registry_rules(client)
    )
    page = page_of(matching(everything, search, str), call.number("page"), call.number("size"))
    rows = await registry.subject_rows(client, page.items, frozenset(active))
    return SubjectList(search, deleted, Page(rows, page.number, page.pages, page.size, page.total), rules, None)


async def show_subject(call: Call) -> SubjectView:
    client, subject = call.cluster, call.text("subject")
    versions = await registry.versions(client, subject)
    number = call.optional_number("version")
    shown = next((each for each in versions if (not each.is_deleted if number is None else each.number == number)), None)
    if shown is None and number is None and versions:
        shown = versions[0]
    if shown is None:
        raise NotFound(f"Subject {subject} has no version {number}." if number is not None else f"Subject {subject} has no versions.")
    compared = call.optional_number("compare")
    schema, users, rules, other = await asyncio.gather(
        registry.schema_version(client, subject, shown.number),
        registry.referrers(client, subject, shown.number),
        registry_rules(client, subject),
        _other(client, subject, compared),
    )
    difference = line_difference(other.pretty, schema.pretty) if other is not None else []
    return SubjectView(
        subject, versions, schema, shown.is_deleted, compared, difference, [Referrer(name, each) for name, each in users], rules
    )


async def _other(client: ClusterClient, subject: str, version: int | None) -> Schema | None:
    return await registry.schema_version(client, subject, version) if version is not None else None


async def registry_rules(client: ClusterClient, subject: str | None = None) -> RegistryRules:
    """A subject without settings of its own has those of the registry."""
    paths = ["/config", "/mode"] if subject is None else [registry.subject_path(subject, below=each) for each in ("/config", "/mode")]
    own_config, own_mode = await asyncio.gather(*(registry.optional(client, each) for each in paths))
    config, mode = own_config, own_mode
    if subject is not None and (not _word(own_config, "compatibilityLevel") or not _word(own_mode, "mode")):
        config, mode = await asyncio.gather(registry.optional(client, "/config"), registry.optional(client, "/mode"))
    own_level, own_mode_word = _word(own_config, "compatibilityLevel"), _word(own_mode, "mode")
    return RegistryRules(
        own_level or _word(config, "compatibilityLevel"),
        own_mode_word or _word(mode, "mode"),
        own_level is not None,
        own_mode_word is not None,
        list(LEVELS),
        list(MODES),
    )


def _word(answer: Any, name: str) -> str | None:
    found = answer.get(name) if isinstance(answer, dict) else None
    return found if isinstance(found, str) else None


async def show_topic_schemas(call: Call) -> TopicSchemas:
    client, topic = call.cluster, call.text("topic")
    if not client.schemas.has_registry:
        return TopicSchemas(topic, [], registry.NO_REGISTRY)
    names = await registry.subject_names(client)
    return TopicSchemas(topic, await registry.subject_rows(client, subjects_of_topic(topic, names), frozenset(names)), None)


OPERATIONS: Final = (
    view(
        "list_subjects",
        "/clusters/{cluster}/schemas",
        list_subjects,
        summary="Subjects of the schema registry, a page at a time.",
        page="schemas/list.html",
        parameters=(SEARCH, Parameter("deleted", "Whether soft-deleted subjects are listed.", bool, False), PAGE, SIZE),
    ),
    view(
        "show_subject",
        "/clusters/{cluster}/schemas/subjects/{subject}",
        show_subject,
        summary="A version of a subject, its references, and its difference from another version.",
        page="schemas/show.html",
        parameters=(
            Parameter("version", "The version; the latest if empty.", int, minimum=1),
            Parameter("compare", "An older version to compare with.", int, minimum=1),
        ),
    ),
    view(
        "show_topic_schemas",
        "/clusters/{cluster}/topics/{topic}/schemas",
        show_topic_schemas,
        summary="Subjects that serializers name after a topic.",
        page="topics/schemas.html",
    ),
)
