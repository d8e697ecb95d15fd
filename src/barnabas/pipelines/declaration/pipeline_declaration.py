"""A whole pipeline as it is declared, and the checks that need all of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from barnabas.pipelines.declaration.fields import Fields, ending, parsed_duration_ms
from barnabas.pipelines.declaration.findings import Findings
from barnabas.pipelines.declaration.located import Located, Place, plain
from barnabas.pipelines.declaration.registries import with_registries
from barnabas.pipelines.declaration.repeatable import check_repeatable
from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration, declare_sink
from barnabas.pipelines.declaration.source_declarations import SourceDeclaration, declare_source
from barnabas.pipelines.declaration.step_declarations import StepDeclaration, declare_step
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import ADDRESSES, read_settings
from barnabas.pipelines.registered.settings import RegistryAddress, declare_registry
from barnabas.pipelines.steps import STEPS

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_CHECKPOINT = ".barnabas/checkpoints"
DEFAULT_TRIGGER = "continuous"
# Metrics have names of topics and pipelines, so other machines do not see them by default.
DEFAULT_METRICS_HOST = "127.0.0.1"
PORT_MAX = 65_535
# In `kafka`, beside the names of settings.
_CLIENT_FILE = "config_file"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Trigger:
    """``interval_ms`` None: the next batch starts as soon as there is new data."""

    interval_ms: int | None = None
    available_now: bool = False


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """Where Prometheus scrapes the pipeline. Port 0 is any free one."""

    port: int
    host: str = DEFAULT_METRICS_HOST


@dataclass(frozen=True, slots=True)
class PipelineDeclaration:
    name: str
    place: Place
    bootstrap: str
    checkpoint: str
    # They may hold passwords.
    kafka: Mapping[str, str] = field(repr=False)
    spark: Mapping[str, str] = field(repr=False)  # settings of the session
    sources: tuple[SourceDeclaration, ...]
    steps: tuple[StepDeclaration, ...]
    sinks: tuple[SinkDeclaration, ...]
    trigger: Trigger
    metrics: MetricsAddress | None = None  # None: no metrics are served
    registry: RegistryAddress | None = None  # for formats that name none of their own

    @property
    def path(self) -> str:
        return self.place.path


def declare_pipeline(found: Located, findings: Findings | None = None) -> PipelineDeclaration:
    """Raises every mistake at once, with those that ``findings`` has from reading the file."""
    findings = Findings() if findings is None else findings
    fields = Fields(found, "the pipeline", findings)
    for part in ("sources", "steps", "sinks"):
        fields.corrected([part])
    name = fields.text("name")
    if name and _NAME.fullmatch(name) is None:
        fields.report(
            f"the name {name!r} may only have letters, digits, dots, underscores and dashes, because a folder is named after it.", "name"
        )
    sources = {each: declare_source(each, value, findings) for each, value in fields.optional_items("sources").items()}
    steps = [(value, declare_step(position, value, findings)) for position, value in enumerate(fields.optional_list("steps"), start=1)]
    sinks = {each: declare_sink(each, value, findings) for each, value in fields.optional_items("sinks").items()}
    file, kafka = _declare_kafka(fields)
    declaration = PipelineDeclaration(
        name=name,
        place=found.place,
        bootstrap=fields.text("bootstrap", default=file.get(ADDRESSES, DEFAULT_BOOTSTRAP)),
        checkpoint=fields.text("checkpoint", default=DEFAULT_CHECKPOINT),
        kafka=kafka,
        spark=fields.optional_texts_by_name("spark"),
        sources=tuple(each for each in sources.values() if each is not None),
        steps=tuple(each for _, each in steps if each is not None),
        sinks=tuple(each for each in sinks.values() if each is not None),
        trigger=_declare_trigger(fields),
        metrics=_declare_metrics(fields),
        registry=declare_registry(fields),
    )
    fields.end()
    _check_presence(fields, "sources", sources, "so there is nothing to read")
    _check_presence(fields, "sinks", sinks, "so nothing would be written")
    places = {each: value.place for each, value in fields.optional_items("sources").items()}
    _check_names(declaration, places, [value for value, _ in steps], findings)
    check_repeatable(declaration, findings)
    declaration = with_registries(declaration, findings)
    findings.check()
    return declaration


def _declare_kafka(fields: Fields) -> tuple[dict[str, str], dict[str, str]]:
    """The settings of the client file, and all settings: those beside ``config_file`` win."""
    given = fields.optional_texts_by_name("kafka")
    path = given.pop(_CLIENT_FILE, None)
    if path is None:
        return {}, given
    try:
        file = read_settings(path)
    except CannotRun as error:
        fields.report(f"{_CLIENT_FILE!r} in 'kafka' of the pipeline: {error}", "kafka")
        return {}, given
    return file, {**{name: value for name, value in file.items() if name != ADDRESSES}, **given}


def _declare_trigger(fields: Fields) -> Trigger:
    found = fields.located("trigger", "value", DEFAULT_TRIGGER)
    match None if found is None else found.value:
        case None | "continuous":
            return Trigger()
        case "available_now":
            return Trigger(available_now=True)
    assert found is not None
    interval_ms = parsed_duration_ms(found.value)
    if interval_ms is None:
        expected = "'trigger' (a duration, available_now or continuous) is a duration such as '10 seconds' or '1 hour'"
        fields.report(f"{expected}, not {plain(found)!r}.", "trigger")
    return Trigger(interval_ms=interval_ms)


def _declare_metrics(fields: Fields) -> MetricsAddress | None:
    own = fields.optional_nested("metrics")
    if own is None:
        return None
    address = MetricsAddress(own.integer("port"), own.text("host", default=DEFAULT_METRICS_HOST))
    if address.port > PORT_MAX:
        own.report(f"'port' of {own.what} is a port, at most {PORT_MAX}, not {address.port}.", "port")
    own.end()
    return address


def _check_presence(fields: Fields, name: str, found: Mapping[str, object], consequence: str) -> None:
    # A value that is not a mapping is reported already.
    given = fields.located(name)
    if not found and (given is None or given.value == {}):
        fields.report(f"the pipeline has no {name}, {consequence}.", name)


def _check_names(declaration: PipelineDeclaration, sources: Mapping[str, Place], steps: Sequence[Located], findings: Findings) -> None:
    """Every name must be declared before it is read: a step sees the sources and the steps above
    it. Names count even where the rest of their declaration is invalid."""
    known = dict(sources)
    declared = {step.place: step for step in declaration.steps}
    later = {view for each in steps if (view := _view(each)) is not None}
    tables = {source.name for source in declaration.sources if source.kind == "table"}
    readable = {source.name for source in declaration.sources}
    for found in steps:
        view, place, step = _view(found), found.place, declared.get(found.place)
        if view is not None and view in known:
            findings.report(place.error(f"there is already a source or step called {view!r}, on line {known[view].line}."))
        for each in () if step is None else step.inputs:
            if each and each not in known:
                findings.report(place.error(_unknown_input(view or "", each, known, later)))
        if step is not None and step.settings is not None:
            for each in _joined_tables(step):
                if each in known and each not in tables and (each in readable or each not in sources):
                    findings.report(
                        place.error(f"step {view!r} joins with {each!r}, which is not a source of the kind 'table'; join streams in SQL.")
                    )
        if view is not None:
            known.setdefault(view, place)
    for sink in declaration.sinks:
        if sink.source and sink.source not in known:
            sentence = f"sink {sink.name!r} reads {sink.source!r}, but there is no source or step of that name{ending(sink.source, known)}"
            findings.report(sink.source_place.error(sentence))


def _unknown_input(view: str, name: str, known: Mapping[str, Place], later: Collection[str]) -> str:
    reads = f"step {view!r} reads {name!r}"
    if name == view:
        return f"{reads}, which is this step itself."
    if name in later:
        return f"{reads}, which is only made below."
    return f"{reads}, but there is no source or step of that name{ending(name, known)}"


def _view(found: Located) -> str | None:
    view = found.value.get("view") if isinstance(found.value, dict) else None
    return view.value if view is not None and isinstance(view.value, str) else None


def _joined_tables(step: StepDeclaration) -> tuple[str, ...]:
    named = cast(Callable[[object], tuple[str, ...]] | None, STEPS.constant(step.kind, "needs_tables", None))
    return () if named is None else named(step.settings)
