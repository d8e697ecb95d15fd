"""The file of a pipeline, as far as a picture of it needs. Pure.

The file is not checked here: ``barnabas pipelines validate`` does that. A file in Python would have
to be run to be read, so only its name is known. Other modules may lie beside it: they do not make a
``Pipeline``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

from barnabas.console.core.pipeline_report import Flow, FlowNode

_READS: Final = re.compile(r"\b(?:from|join)\s+`?([A-Za-z_]\w*)", re.IGNORECASE)
_DECLARES: Final = re.compile(r"\bPipeline\(")
_SOURCES: Final = ("topic", "topics", "pattern", "table", "jdbc", "files", "generator")
_STEPS: Final = ("sql", "join", "deduplicate", "python", "state")
_SINKS: Final = ("topic", "jdbc", "lake", "files", "console")
_PLACES: Final = {"jdbc": "table", "files": "path", "lake": "path"}


@dataclass(frozen=True, slots=True)
class PipelineFile:
    file: str
    pipeline: str
    """The name that the pipeline reports with."""
    flow: Flow | None
    problem: str | None


def may_declare(file: str, text: str) -> bool:
    """Whether the file has a pipeline, as far as its text tells without running it."""
    return not file.endswith(".py") or _DECLARES.search(text) is not None


def read_pipeline_file(file: str, text: str) -> PipelineFile:
    """Never fails: a file that cannot be read has a problem instead."""
    stem = file.rpartition(".")[0]
    if file.endswith(".py"):
        return PipelineFile(file, stem, None, None)
    try:
        read = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return PipelineFile(file, stem, None, f"The file is no YAML: {' '.join(str(error).split())[:300]}.")
    if not isinstance(read, dict) or not isinstance(read.get("name"), str):
        return PipelineFile(file, stem, None, "The file has no name of a pipeline.")
    return PipelineFile(file, read["name"], Flow(_nodes(read)), None)


def _nodes(read: dict[Any, Any]) -> list[FlowNode]:
    nodes = []
    for name, fields in _mapping(read.get("sources")).items():
        kind = _kind(fields, _SOURCES)
        letters = _mapping(_mapping(fields).get("dead_letters")).get("topic")
        nodes.append(FlowNode(str(name), kind, "source", [], _places(fields, kind), letters if isinstance(letters, str) else None))
    steps = read.get("steps")
    for fields in steps if isinstance(steps, list) else []:
        kind = _kind(fields, _STEPS)
        known = [each.name for each in nodes]
        nodes.append(FlowNode(str(_mapping(fields).get("view", "")), kind, "step", _inputs(fields, kind, known), []))
    for name, fields in _mapping(read.get("sinks")).items():
        kind = _kind(fields, _SINKS)
        nodes.append(FlowNode(str(name), kind, "sink", [str(_mapping(fields).get("from", ""))], _places(fields, kind)))
    return nodes


def _inputs(fields: Any, kind: str, known: list[str]) -> list[str]:
    own = _mapping(fields).get(kind)
    if kind == "sql":
        return [each for each in dict.fromkeys(_READS.findall(str(own))) if each in known]
    if kind == "python":
        found = _mapping(fields).get("inputs")
        return [str(each) for each in found] if isinstance(found, list) else []
    return [str(each) for name in ("stream", "table", "from") if (each := _mapping(own).get(name)) is not None]


def _places(fields: Any, kind: str) -> list[str]:
    found = _mapping(fields).get(kind)
    if isinstance(found, dict):
        found = found.get(_PLACES.get(kind, ""))
    if isinstance(found, list):
        return [str(each) for each in found]
    return [found] if isinstance(found, str) else []


def _kind(fields: Any, kinds: tuple[str, ...]) -> str:
    return next((each for each in kinds if each in _mapping(fields)), "unknown")


def _mapping(found: Any) -> dict[Any, Any]:
    return found if isinstance(found, dict) else {}
