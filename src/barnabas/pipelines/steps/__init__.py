"""Steps: frames made of frames. A step is a module with the functions of :class:`Step`; its result
is a view that others can name.

Read this module first, then :mod:`~.sql`, :mod:`~.python`, :mod:`~.deduplicate`, :mod:`~.join` and
:mod:`~.state`. :mod:`~.loading` finds the functions of users.

Invariants: a step changes nothing outside its frame; its inputs are known from the declaration,
before Spark starts.

Not here: reading and writing, which sources and sinks do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from barnabas.pipelines.kinds import Kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration


class Step(Protocol):
    """A module may also have ``check_alone(declaration, context)``, the checks that need Spark but
    no inputs, and ``needs_tables(settings)``, the inputs that must be tables."""

    def declare(self, fields: Fields) -> object:
        """The settings of this kind."""

    def inputs(self, settings: object) -> tuple[str, ...]:
        """The sources and steps it reads, so that a misspelt name is found before anything
        starts."""

    def apply(self, declaration: StepDeclaration, context: RunContext) -> DataFrame:
        """Its inputs are in ``context.frame(name)``."""


STEPS: Kinds[Step] = Kinds(
    "step", __name__, {"sql": "sql", "join": "join", "deduplicate": "deduplicate", "python": "python", "state": "state"}
)
