"""Changes of schemas: try, register, delete, and the rules of subjects.

A registry has permissions of its own. Where people log in, they change schemas with their own login
(``registry_login: user``): with the login of the console, each of them could change what the ACLs
forbid.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from barnabas.console.access import registry
from barnabas.console.core.line_difference import DifferenceLine, line_difference
from barnabas.console.core.subject import LEVELS, MODES, TYPES, pretty_schema, read_references, reference_lines
from barnabas.console.errors import BadValue, Forbidden, NotFound
from barnabas.console.settings import LoginMode
from barnabas.console.views.schemas import registry_rules
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, Operation, change, view
from barnabas.console.web.parameters import Parameter

# A registry refuses larger ones.
SCHEMA_CHARACTERS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Trial:
    """What the registry answers to a schema that is not registered."""

    is_compatible: bool
    sentence: str
    reasons: list[str]
    """The differences that the level of the subject forbids."""
    latest_version: int | None
    difference: list[DifferenceLine]
    """Between the latest version and this schema."""


@dataclass(frozen=True, slots=True)
class SchemaForm:
    subject: str
    type: str
    schema: str
    references: str
    level: str | None
    types: list[str]
    trial: Trial | None


async def new_schema(call: Call) -> SchemaForm:
    """The form begins with the latest version of the subject."""
    client, subject = call.cluster, call.text("subject")
    rules = await registry_rules(client, subject or None)
    latest = await registry.latest_schema(client, subject) if subject else None
    if latest is None:
        return SchemaForm(subject, TYPES[0], "", "", rules.level, list(TYPES), None)
    return SchemaForm(subject, latest.type, latest.pretty, reference_lines(latest.references), rules.level, list(TYPES), None)


async def try_schema(call: Call) -> SchemaForm:
    client, subject, text = call.cluster, call.text("subject"), call.text("schema")
    rules = await registry_rules(client, subject)
    latest = await registry.latest_schema(client, subject)
    path = registry.subject_path(subject, "versions", below="/compatibility/subjects")
    try:
        answer = await registry.ask_registry(client, "POST", path, _body(call), query={"verbose": "true"})
        trial = _judged(answer, has_versions=latest is not None)
    except NotFound as error:
        trial = (
            (True, f"Subject {subject} has no versions, so any valid schema fits.", []) if latest is None else (False, error.sentence, [])
        )
    except BadValue as error:
        trial = (False, error.sentence, [])
    pretty = pretty_schema(call.text("type"), text)
    difference = line_difference(latest.pretty, pretty) if latest is not None else []
    made = Trial(*trial, latest.version if latest is not None else None, difference)
    return SchemaForm(subject, call.text("type"), text, call.text("references"), rules.level, list(TYPES), made)


def _judged(answer: Any, *, has_versions: bool) -> tuple[bool, str, list[str]]:
    found = answer if isinstance(answer, dict) else {}
    reasons = [str(each) for each in found.get("messages") or ()]
    if found.get("is_compatible") is not True:
        return False, "The schema is not compatible, and the registry would refuse it.", reasons or ["The registry gives no reason."]
    return True, "The schema is compatible." if has_versions else "The schema is the first of its subject.", []


async def register_schema(call: Call) -> Changed:
    _may_change(call)
    subject = call.text("subject")
    path = registry.subject_path(subject, "versions")
    query = {"normalize": "true"} if call.flag("normalize") else None
    answer = await registry.ask_registry(call.cluster, "POST", path, _body(call), query=query)
    number = answer.get("id") if isinstance(answer, dict) else None
    return Changed(f"The schema of {subject} is registered with id {number}.", _page(call))


async def delete_schema(call: Call) -> Changed:
    """Data of a soft-deleted version can still be read; permanent deletion needs a soft one
    first."""
    _may_change(call)
    subject, version, permanent = call.text("subject"), call.optional_number("version"), call.flag("permanent")
    if call.text("confirm_subject") != subject:
        raise BadValue(f"Type the name of the subject, {subject}, to confirm.", "confirm_subject")
    path = registry.subject_path(subject, *(() if version is None else ("versions", version)))
    await registry.ask_registry(call.cluster, "DELETE", path, query={"permanent": "true"} if permanent else None)
    what = f"Subject {subject}" if version is None else f"Version {version} of {subject}"
    location = call.url("schemas") if version is None or permanent else _page(call)
    return Changed(f"{what} is deleted{' for ever' if permanent else '; its schemas can still be read by their ids'}.", location)


async def set_level(call: Call) -> Changed:
    return await _set_rule(call, "/config", "compatibility", call.text("level"), "The compatibility level")


async def set_mode(call: Call) -> Changed:
    return await _set_rule(call, "/mode", "mode", call.text("mode"), "The mode")


async def _set_rule(call: Call, path: str, field: str, value: str, words: str) -> Changed:
    """An empty value takes the rule of a subject away, so that it has that of the registry."""
    _may_change(call)
    subject = call.text("subject")
    if subject:
        path = registry.subject_path(subject, below=path)
    if not value and not subject:
        raise BadValue(f"{words} of the registry is missing.", "level" if field == "compatibility" else "mode")
    if value:
        await registry.ask_registry(call.cluster, "PUT", path, {field: value})
    else:
        await registry.ask_registry(call.cluster, "DELETE", path)
    place = f"of {subject}" if subject else "of the registry"
    return Changed(f"{words} {place} is {value or 'that of the registry'} now.", _page(call) if subject else call.url("schemas"))


def _may_change(call: Call) -> None:
    settings = call.services.settings
    if settings.login is not LoginMode.NONE and call.services.cluster_settings(call.cluster_name).registry_login != "user":
        raise Forbidden("People change schemas with their own login: set registry_login: user for the cluster.")


def _body(call: Call) -> dict[str, Any]:
    references = [asdict(each) for each in read_references(call.text("references"))]
    return {"schema": call.text("schema"), "schemaType": call.text("type"), "references": references}


def _page(call: Call) -> str:
    return call.url("schemas", "subjects", call.text("subject"))


_SUBJECT: Final = Parameter("subject", "The subject.", required=True)
_OPTIONAL_SUBJECT: Final = Parameter("subject", "The subject; the whole registry if empty.", default="")
_SCHEMA: Final = (
    _SUBJECT,
    Parameter("type", "The type of the schema.", default=TYPES[0], choices=TYPES),
    Parameter("schema", "The text of the schema.", required=True, maximum=SCHEMA_CHARACTERS_MAX),
    Parameter("references", "References, a line NAME SUBJECT VERSION each.", default="", maximum=100_000),
)

OPERATIONS: Final = (
    view(
        "new_schema",
        "/clusters/{cluster}/schemas/new",
        new_schema,
        summary="What a new version of a subject begins with.",
        page="schemas/new.html",
        parameters=(Parameter("subject", "The subject.", default=""),),
    ),
    Operation(
        "try_schema",
        "POST",
        "/clusters/{cluster}/schemas/try",
        try_schema,
        "Whether a schema could be registered, and the differences that forbid it. Changes nothing.",
        "schemas/new.html",
        _SCHEMA,
    ),
    change(
        "register_schema",
        "/clusters/{cluster}/schemas",
        register_schema,
        summary="Register a schema.",
        parameters=(*_SCHEMA, Parameter("normalize", "Ignore the order of what may stand in any order.", bool, False)),
    ),
    change(
        "delete_schema",
        "/clusters/{cluster}/schemas/delete",
        delete_schema,
        summary="Delete a subject or one version, softly or for ever.",
        parameters=(
            _SUBJECT,
            Parameter("confirm_subject", "The name of the subject, typed again.", required=True),
            Parameter("version", "One version only.", int, minimum=1),
            Parameter("permanent", "For ever; the subject or version is soft-deleted before.", bool, False),
        ),
    ),
    change(
        "set_compatibility_level",
        "/clusters/{cluster}/schemas/level",
        set_level,
        summary="Set the compatibility level of the registry or of a subject.",
        parameters=(_OPTIONAL_SUBJECT, Parameter("level", "The level; empty to inherit it.", default="", choices=LEVELS)),
    ),
    change(
        "set_registry_mode",
        "/clusters/{cluster}/schemas/mode",
        set_mode,
        summary="Set the mode of the registry or of a subject.",
        parameters=(_OPTIONAL_SUBJECT, Parameter("mode", "The mode; empty to inherit it.", default="", choices=MODES)),
    ),
)
