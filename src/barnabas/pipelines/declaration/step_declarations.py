"""Steps as they are declared."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.pipelines.declaration.fields import Fields
from barnabas.pipelines.declaration.findings import Findings
from barnabas.pipelines.declaration.located import Located, Place
from barnabas.pipelines.declaration.source_declarations import Watermark, check_name, declare_watermark
from barnabas.pipelines.steps import STEPS


@dataclass(frozen=True, slots=True)
class StepDeclaration:
    view: str
    kind: str
    place: Place
    declared: Located  # the values with the place of each
    settings: object
    inputs: tuple[str, ...]
    watermark: Watermark | None  # over the step's result


def declare_step(position: int, found: Located, findings: Findings) -> StepDeclaration | None:
    """None when it cannot be read; ``findings`` have the reason."""
    fields = Fields(found, f"step {position}", findings)
    view = fields.text("view")
    if view:
        fields.what = f"step {view!r}"
        check_name(view, fields.what, fields.place_of("view"), findings)
    kind = fields.kind(STEPS.names, "is one of")
    if kind is None:
        return None
    watermark = fields.optional_nested("watermark")
    declared_watermark = None if watermark is None else declare_watermark(watermark)
    settings: object = None
    inputs: tuple[str, ...] = ()
    with findings.collected():
        settings = STEPS.of(kind).declare(fields)
        fields.end()
        inputs = STEPS.of(kind).inputs(settings)
    return StepDeclaration(view, kind, found.place, found, settings, inputs, declared_watermark)
