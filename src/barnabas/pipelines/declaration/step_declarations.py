"""Steps as they are declared."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.pipelines.declaration.fields import Fields
from barnabas.pipelines.declaration.located import Located, Place
from barnabas.pipelines.declaration.source_declarations import Watermark, check_name, declare_watermark
from barnabas.pipelines.steps import STEPS


@dataclass(frozen=True, slots=True)
class StepDeclaration:
    view: str
    kind: str
    place: Place
    settings: object
    inputs: tuple[str, ...]
    watermark: Watermark | None  # over the step's result


def declare_step(position: int, found: Located) -> StepDeclaration:
    fields = Fields(found, f"step {position}")
    view = fields.text("view")
    what = fields.what = f"step {view!r}"
    check_name(view, what, fields.place_of("view"))
    kinds = [kind for kind in STEPS.names if kind in fields]
    if len(kinds) != 1:
        given = f"it has {' and '.join(kinds)}" if kinds else "it has none of these"
        raise fields.error(f"{what} is one of {', '.join(STEPS.names)}, but {given}.")
    (kind,) = kinds
    watermark = fields.optional_nested("watermark")
    declared_watermark = None if watermark is None else declare_watermark(watermark)
    settings = STEPS.of(kind).declare(fields)
    fields.end()
    return StepDeclaration(view, kind, found.place, settings, STEPS.of(kind).inputs(settings), declared_watermark)
