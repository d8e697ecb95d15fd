"""``Pipeline``: the same declarations from code.

    pipeline = Pipeline("alerts", bootstrap="127.0.0.1:9092")
    pipeline.source("payments", topic="payments", schema="account STRING, amount DOUBLE")

    @pipeline.model
    def large(payments: DataFrame) -> DataFrame:
        return payments.where("amount > 100")

    pipeline.sink("alerts_out", from_="large", topic="alerts", key="account")

A model is a function from frames to a frame; its name is the view's, and its parameters name its
inputs. So logic can be tested without a pipeline, and the wiring can be read without the logic.
Everything else is as in a file: the fields are the same and so are the checks; errors name the line
of the call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas.pipelines.declaration.located import Located, Place, located
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration, declare_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Model = TypeVar("Model", bound=Callable[..., Any])


class Pipeline:
    """``settings`` are the fields at the top of a file: bootstrap, checkpoint, kafka, spark,
    trigger, metrics, registry."""

    def __init__(self, name: str, **settings: Any) -> None:
        self._place = _caller()
        self._settings = {"name": name, **settings}
        self._sources: dict[str, Located] = {}
        self._steps: list[Located] = []
        self._sinks: dict[str, Located] = {}
        self._file: PipelineDeclaration | None = None

    @classmethod
    def from_file(cls, path: str) -> Pipeline:
        """Raises ``DeclarationError`` when the file is invalid."""
        from barnabas.pipelines.declaration.read import read_pipeline

        declaration = read_pipeline(path)
        pipeline = cls(declaration.name)
        pipeline._file = declaration
        return pipeline

    @property
    def name(self) -> str:
        return str(self._settings["name"])

    def source(self, name: str, **fields: Any) -> Self:
        return self._put(self._sources, "source", name, fields)

    def step(self, view: str, **fields: Any) -> Self:
        return self._step(_caller(), {"view": view, **fields})

    def model(self, function: Model) -> Model:
        """A decorator: the function becomes a step of the same name."""
        inputs = list(inspect.signature(function).parameters)
        place = Place(function.__code__.co_filename, function.__code__.co_firstlineno)
        self._step(place, {"view": function.__name__, "python": function, "inputs": inputs})
        return function

    def sink(self, name: str, *, from_: str, **fields: Any) -> Self:
        return self._put(self._sinks, "sink", name, {"from": from_, **fields})

    def declaration(self) -> PipelineDeclaration:
        """The checked declaration. ``DeclarationError`` names the file and line of the faulty
        call."""
        if self._file is not None:
            return self._file
        whole = {
            **{name: located(value, self._place.of(name)) for name, value in self._settings.items()},
            "sources": Located(self._sources, self._place.of("sources")),
            "steps": Located(self._steps, self._place.of("steps")),
            "sinks": Located(self._sinks, self._place.of("sinks")),
        }
        return declare_pipeline(Located(whole, self._place))

    def run(
        self,
        *,
        master: str | None = None,
        available_now: bool = False,
        checkpoint: str | None = None,
        session: SparkSession | None = None,
    ) -> None:
        """Runs until it is stopped; with ``available_now``, until all available data is processed.
        ``session`` is used as it is and not stopped."""
        from barnabas.pipelines.running.heartbeat import heartbeats
        from barnabas.pipelines.running.job import run_declarations
        from barnabas.pipelines.running.metrics_page import served_metrics
        from barnabas.pipelines.running.runner import start

        if session is None:
            run_declarations([self.declaration()], master=master, available_now=available_now, checkpoint=checkpoint)
            return
        with heartbeats([self.declaration()], checkpoint) as heart, served_metrics([self.declaration()]) as served:
            run = start([self.declaration()], session, checkpoint=checkpoint, available_now=available_now)
            heart.running()
            served.running(run)
            try:
                run.wait(served.observers)
            finally:
                run.stop()

    def _put(self, into: dict[str, Located], noun: str, name: str, fields: dict[str, Any]) -> Self:
        place = _caller()
        if name in into:
            raise place.error(f"there is already a {noun} {name!r}, from line {into[name].place.line}.")
        into[name] = located(fields, place.of(f"{noun}s").of(name))
        return self

    def _step(self, place: Place, fields: dict[str, Any]) -> Self:
        self._steps.append(located(fields, place.of("steps").of(len(self._steps))))
        return self


def _caller() -> Place:
    """The file and line outside this module that made the call."""
    frame = sys._getframe(1)  # noqa: SLF001
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)
