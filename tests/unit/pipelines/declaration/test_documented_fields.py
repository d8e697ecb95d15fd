"""The tables under "Every field" in ``docs/pipelines.md`` are the fields of the declaration: the
same names, the same defaults, the same choices.

A declaration has no list of its fields; its calls are the grammar. So the samples below are read,
and the findings have every field that was asked for. A field that no sample reaches is found in the
code itself: every name that a call has as its argument must be among them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import pytest

import barnabas.pipelines
from barnabas.pipelines.declaration.fields import Fields, parsed_duration_ms
from barnabas.pipelines.declaration.findings import Findings, Question
from barnabas.pipelines.declaration.located import parse_yaml
from barnabas.pipelines.declaration.pipeline_declaration import declare_pipeline
from barnabas.pipelines.errors import DeclarationError
from barnabas.pipelines.formats import FORMATS
from barnabas.pipelines.sinks import SINKS
from barnabas.pipelines.sources import SOURCES
from barnabas.pipelines.steps import STEPS

PAGE = Path(__file__).parents[4] / "docs" / "pipelines.md"
_ROW = re.compile(r"\| `([^`]+)` \| ?([^|]*?) ?\| (.*) \|")
_DECODED = "format: json, schema: a INT, key: a INT, tolerance: all, dead_letters: {topic: t}, schema_changes: stop"
_URL = "url: 'jdbc:sqlite:x'"


REGISTERED = "Formats with a registry"


class Section(NamedTuple):
    """Tables of the page, and samples of the mapping that they describe. ``prefix`` is the path of
    that mapping in :data:`FILE`; ``shared`` are sections whose fields the mapping has too."""

    title: str
    prefix: str
    samples: tuple[str, ...]
    shared: tuple[str, ...] = ()


SECTIONS = (
    Section("The file", "", ("{metrics: {}, registry: {}}", "{registry: http://r}")),
    Section("Every source", "sources.x.", ("{topic: t, watermark: {}}", f"{{topic: t, {_DECODED}}}"), ("Topics as a source",)),
    Section(
        "Topics as a source", "sources.x.", (f"{{topic: t, {_DECODED}}}", "{topics: [t]}", "{pattern: t}"), ("Every source", "Formats")
    ),
    Section("A compacted topic as a table", "sources.x.", ("{table: t, key: a INT}",), ("Every source",)),
    Section(
        "A database as a source",
        "sources.x.",
        (f"{{jdbc: {{{_URL}, table: t, mode: timestamp+incrementing, incrementing: a, timestamp: b}}}}",),
        ("Every source",),
    ),
    Section("Files as a source", "sources.x.", ("{files: {path: p}, dead_letters: {topic: t}}",), ("Every source",)),
    Section("A generator as a source", "sources.x.", ("{generator: {}}",), ("Every source",)),
    Section("Formats", "sources.x.format.", tuple(f"{{topic: t, format: {{{name}: {{}}}}}}" for name in FORMATS.names), (REGISTERED,)),
    *(
        Section(REGISTERED, f"sources.x.format.{name}.", (f"{{topic: t, format: {{{name}: {{registry: {{}}}}}}}}",), ("The file",))
        for name in ("avro", "json_schema", "protobuf")
    ),
    Section("Every step", "steps[0].", ("{view: v, sql: SELECT 1, watermark: {}}",), ("Kinds of steps",)),
    Section("Kinds of steps", "steps[0].", tuple(f"{{view: v, {name}: {{}}}}" for name in STEPS.names), ("Every step",)),
    Section("Every sink", "sinks.x.", ("{from: x, topic: t}",), ("Topics as a sink",)),
    Section("Topics as a sink", "sinks.x.", ("{topic: t}",), ("Every sink",)),
    Section("A database as a sink", "sinks.x.", (f"{{jdbc: {{{_URL}, table: t, keys: [a]}}}}",), ("Every sink",)),
    Section("A lake table as a sink", "sinks.x.", ("{lake: {}}",), ("Every sink",)),
    Section("Files and the terminal as sinks", "sinks.x.", ("{files: {}}", "{console: {}}"), ("Every sink",)),
)
SHOWN_ELSEWHERE = {"watermark", "dead_letters", "metrics", "jdbc", "files", "generator", "join", "deduplicate", "state", "lake", "console"}


class Documented(NamedTuple):
    default: str
    meaning: str


def documented(title: str) -> dict[str, Documented]:
    text = PAGE.read_text("utf-8").partition(f"### {title}\n")[2]
    rows = [_ROW.fullmatch(line) for line in re.split(r"\n##", text)[0].splitlines()]
    return {row[1]: Documented(row[2], row[3]) for row in rows if row is not None}


def asked(section: Section) -> dict[str, Question]:
    found: dict[str, Question] = {}
    for sample in section.samples:
        for question in questions(section.prefix, sample):
            name = question.field.removeprefix(section.prefix)
            if question.field.startswith(section.prefix) and (section.prefix or not re.match(r"(sources|steps|sinks)[.\[]", name)):
                found.setdefault(name, question)
    return found


def questions(prefix: str, sample: str) -> list[Question]:
    """Of a file with the sample in its place. It may be invalid otherwise."""
    around = {"": "{}", "sources": "sources: {{x: {}}}", "steps[0]": "steps: [{}]", "sinks": "sinks: {{x: {}}}"}
    text = around[prefix.partition(".")[0]].format(sample)
    findings = Findings()
    with pytest.raises(DeclarationError):
        declare_pipeline(parse_yaml(text, "sample.yaml", {}, findings), findings)
    return findings.questions


@pytest.mark.parametrize("section", SECTIONS, ids=lambda each: f"{each.title} {each.prefix}")
def test_a_section_has_the_fields_of_the_declaration(section: Section) -> None:
    declared = {name: question for name, question in asked(section).items() if name not in SHOWN_ELSEWHERE}
    shown = documented(section.title)
    elsewhere = {name for title in section.shared for name in documented(title)}
    if REGISTERED in section.shared:
        elsewhere |= {f"{format_}.{name}" for format_ in FORMATS.names for name in elsewhere}
    assert shown, f"there is no table under {section.title!r}"
    # A format's fields are asked for inside a source, too.
    assert {name for name in declared if not name.startswith("format.")} - elsewhere <= shown.keys(), "every declared field is documented"
    assert shown.keys() - declared.keys() == set(), "every documented field exists"
    for name, question in declared.items():
        if name in shown:
            assert same(shown[name].default, question), f"{name} has the default {question.default!r}"
            missing = [each for each in question.choices if f"`{each}`" not in shown[name].meaning + shown[name].default]
            assert not missing, f"{name} can be {missing}"


def same(cell: str, question: Question) -> bool:
    code = re.fullmatch(r"`([^`]*)`", cell)
    default: Any = question.default
    if code is None:
        return default is None
    match question.kind:
        case "duration":
            return parsed_duration_ms(code[1]) == int(default)
        case "flag":
            return code[1] == str(default).lower()
        case _:
            return code[1] == ("''" if default == "" else str(default))


def test_every_kind_has_a_section() -> None:
    roots = {name.partition(".")[0] for section in SECTIONS for name in documented(section.title)}
    assert {*SOURCES.names, *STEPS.names, *SINKS.names} <= roots
    formats = documented("Every source")["format"].meaning
    assert all(f"`{name}`" in formats for name in FORMATS.names)


def test_the_samples_reach_every_field_that_the_code_asks_for() -> None:
    """A call such as ``own.text("url")``: its name is among the fields that the samples met."""
    reached = {name.rpartition(".")[2] for section in SECTIONS for name in asked(section)}
    reached |= {each for section in SECTIONS for name in asked(section) for each in name.split(".")}
    methods = {name for name in vars(Fields) if not name.startswith("_")} - {"error", "report", "place_of", "end", "kind", "names"}
    folder = Path(barnabas.pipelines.__file__).parent
    called: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        if path.parts[-2] in ("sql", "mirror", "running", "exactly_once"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods and node.args:
                receiver, name = node.func.value, node.args[0]
                if isinstance(receiver, ast.Name) and receiver.id in ("fields", "own", "dead_letters") and isinstance(name, ast.Constant):
                    called[str(name.value)] = f"{path.name}:{node.lineno}"
    assert len(called) > 60
    assert called.keys() - reached == set(), indent("\n".join(f"{called[each]} {each}" for each in called.keys() - reached), "  ")
