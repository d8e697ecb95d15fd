"""Levels of features, raised or lowered in two steps: the controller checks a change first, and
then makes it.

A level is lowered only as far as no metadata are lost (Kafka's safe downgrade): the console has no
way to lose them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.console.access.features import Feature, features, update_feature
from barnabas.console.core.releases import METADATA_VERSION, release_of
from barnabas.console.errors import BadValue, ConsoleError, NotFound
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter

_LEVEL_MAX: Final = 2**15 - 1


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """What a change would do; nothing is changed yet."""

    name: str
    before: int
    before_release: str | None
    after: int
    after_release: str | None
    lowest: int
    highest: int
    is_downgrade: bool
    refused: str | None
    """Why the controller would refuse the change."""


async def preview_feature(call: Call) -> FeatureChange:
    found, level = await _feature(call), call.number("level")
    refused = None
    try:
        await update_feature(call.cluster, found, level, validate_only=True)
    except ConsoleError as error:
        refused = error.sentence
    return FeatureChange(
        found.name,
        found.level,
        _release(found.name, found.level),
        level,
        _release(found.name, level),
        found.lowest,
        found.highest,
        level < found.level,
        refused,
    )


async def set_feature(call: Call) -> Changed:
    found, level = await _feature(call), call.number("level")
    if call.optional_number("before") not in (None, found.level):
        raise BadValue(f"{found.name} is at level {found.level} meanwhile; look at the change again.", "before")
    await update_feature(call.cluster, found, level, validate_only=False)
    call.cluster.forget()
    return Changed(f"{found.name} goes from level {found.level} to level {level}.", call.url("brokers", "features"))


async def _feature(call: Call) -> Feature:
    name = call.text("name")
    call.cluster.forget("features")
    found = next((each for each in await features(call.cluster) if each.name == name), None)
    if found is None:
        raise NotFound(f"Brokers do not have the feature {name}.")
    return found


def _release(name: str, level: int) -> str | None:
    return release_of(level) if name == METADATA_VERSION else None


_NAME: Final = Parameter("name", "The feature.", required=True)
_LEVEL: Final = Parameter("level", "The new level; 0 switches the feature off.", int, required=True, minimum=0, maximum=_LEVEL_MAX)

OPERATIONS: Final = (
    view(
        "preview_feature",
        "/clusters/{cluster}/brokers/features/change",
        preview_feature,
        summary="Whether the controller would change the level of a feature, without changing it.",
        page="brokers/feature_change.html",
        parameters=(_NAME, _LEVEL),
    ),
    change(
        "set_feature",
        "/clusters/{cluster}/brokers/features",
        set_feature,
        summary="Raise the level of a feature, or lower it as far as no metadata are lost.",
        parameters=(_NAME, _LEVEL, Parameter("before", "The level that the change was looked at with.", int)),
    ),
)
