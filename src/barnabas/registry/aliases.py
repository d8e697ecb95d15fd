"""Aliases: a subject whose settings name another one stands for that one.

Every path below ``/subjects/{subject}`` and the parameter ``subject`` of ``/schemas/ids`` follow
the alias. ``/config`` and ``/mode`` do not, because the alias itself is a setting there. An alias
is followed before the caller's permissions are checked, so they are those of the other subject.
"""

from __future__ import annotations

from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import Subject
from barnabas.registry.endpoints.subjects import subject_of
from barnabas.registry.http import Call
from barnabas.registry.routes import Route


def follow_alias(state: RegistryState, call: Call, route: Route) -> None:
    if "subjects" in route.path and "subject" in call.arguments:
        target = _target(state, subject_of(call))
        if target is not None:
            call.arguments["subject"], call.context = target, ""
    elif route.path[:2] == ("schemas", "ids") and call.text("subject"):
        named = call.text("subject")
        target = _target(state, Subject.parse(named if named.startswith(":.") else call.context + named).text)
        if target is not None:
            call.query, call.context = {**call.query, "subject": [target]}, ""


def _target(state: RegistryState, subject: str) -> str | None:
    alias = state.configs.get(subject, {}).get("alias")
    return Subject.parse(alias).within(Subject.parse(subject)).text if alias else None
