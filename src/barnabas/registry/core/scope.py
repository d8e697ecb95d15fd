"""The settings and the mode that hold for a subject: its own, its context's, or the global ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import DEFAULT_CONTEXT, GLOBAL_CONTEXT, Subject
from barnabas.schemas.compatibility import Level
from barnabas.schemas.schema import Policy

DEFAULT_LEVEL: Final = Level.BACKWARD


class Mode(StrEnum):
    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def imports(self) -> bool:
        """Whether schemas come with ids and versions that another registry has chosen."""
        return self in (Mode.IMPORT, Mode.FORWARD)

    @property
    def read_only(self) -> bool:
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)


def config_in_scope(state: RegistryState, subject: str | None) -> Mapping[str, Any]:
    """The settings of a subject, each taken from the nearest place that has it."""
    found: dict[str, Any] = {"compatibilityLevel": DEFAULT_LEVEL.value}
    for place in reversed(list(_places(subject))):
        found |= {name: value for name, value in state.configs.get(place, {}).items() if value is not None}
    return found


def level_in_scope(state: RegistryState, subject: str) -> Level:
    named = config_in_scope(state, subject)["compatibilityLevel"]
    # A newer registry may have stored a level that this one does not know.
    return Level(named) if named in Level.__members__ else DEFAULT_LEVEL


def policy_in_scope(state: RegistryState, subject: str) -> Policy:
    named = config_in_scope(state, subject).get("compatibilityPolicy")
    return Policy(str(named)) if named in Policy.__members__ else Policy.STRICT


def mode_in_scope(state: RegistryState, subject: str | None) -> Mode:
    if state.modes.get(None) == Mode.READONLY_OVERRIDE:
        return Mode.READONLY_OVERRIDE  # It holds whatever subjects say.
    found = next((state.modes[place] for place in _places(subject) if place in state.modes), Mode.READWRITE.value)
    return Mode(found) if found in Mode.__members__ else Mode.READWRITE


def _places(subject: str | None) -> Iterator[str | None]:
    if subject is not None:
        parsed = Subject.parse(subject)
        yield parsed.text
        if parsed.context != DEFAULT_CONTEXT:
            yield parsed.context_text
    yield f":{GLOBAL_CONTEXT}:"
    yield None
