"""The dashboard and the alerts name only metrics, labels and APIs that nodes have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from barnabas.model.errors import ErrorCode
from barnabas.telemetry import catalogue
from barnabas.telemetry.metrics import Kind, Metric
from barnabas.wire.apis import ApiKey

_DIRECTORY = Path(__file__).parents[3] / "deploy" / "monitoring"
# Labels that Prometheus itself adds to every series, and the one of histograms.
_OF_PROMETHEUS = {"job", "instance"}
_WORD = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_METRIC = re.compile(r"\b((?:barnabas|process)_[a-z0-9_]+)(?:\{([^}]*)\})?")
_BY = re.compile(r"\bby \(([^)]*)\)")


def _known() -> dict[str, set[str]]:
    """The names of series with their labels."""
    known: dict[str, set[str]] = {}
    for metric in (each for each in vars(catalogue).values() if isinstance(each, Metric)):
        labels = set(metric.labels) | _OF_PROMETHEUS
        if metric.kind is Kind.HISTOGRAM:
            known |= {f"{metric.name}_{part}": labels for part in ("sum", "count")}
            known[f"{metric.name}_bucket"] = labels | {"le"}
        else:
            known[metric.name] = labels
    return known


def _alerts() -> list[dict[str, Any]]:
    document = yaml.safe_load((_DIRECTORY / "prometheus-alerts.yaml").read_text("utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads((_DIRECTORY / "grafana-dashboard.json").read_text("utf-8"))["panels"]
    return panels


def _expressions() -> list[str]:
    return [each["expr"] for each in _alerts()] + [target["expr"] for panel in _panels() for target in panel["targets"]]


@pytest.mark.parametrize("expression", _expressions())
def test_an_expression_names_metrics_and_labels_that_exist(expression: str) -> None:
    known = _known()
    found = _METRIC.findall(expression)
    assert found or expression.startswith("up{")
    for name, selector in found:
        assert name in known
        used = {each.partition("=")[0].rstrip("!") for each in selector.split(",") if each}
        grouped = {word for group in _BY.findall(expression) for word in _WORD.findall(group)}
        assert used | grouped <= known[name]


@pytest.mark.parametrize("expression", _expressions())
def test_counters_are_used_as_rates_and_parentheses_match(expression: str) -> None:
    assert expression.count("(") == expression.count(")")
    for name, _ in _METRIC.findall(expression):
        if name.endswith("_total"):
            assert re.search(rf"(rate|increase)\({name}\b", expression), name


def test_labels_of_requests_have_values_of_the_protocol() -> None:
    apis = {"".join(part.title() for part in each.name.split("_")) for each in ApiKey}
    text = " ".join(_expressions())
    assert set(re.findall(r'api="(\w+)"', text)) <= apis
    assert set(re.findall(r'error="(\w+)"', text)) <= {each.name for each in ErrorCode}


def test_every_alert_has_a_severity_and_a_sentence_with_labels_that_its_expression_keeps() -> None:
    alerts = _alerts()
    assert len({each["alert"] for each in alerts}) == len(alerts) > 10
    for each in alerts:
        assert each["labels"]["severity"] in ("critical", "warning")
        summary = each["annotations"]["summary"]
        assert summary.endswith(".")
        grouped = {word for group in _BY.findall(each["expr"]) for word in _WORD.findall(group)}
        is_summed = re.match(r"(sum|max|histogram_quantile)\b", each["expr"]) is not None
        for label in re.findall(r"\$labels\.(\w+)", summary):
            names = [name for name, _ in _METRIC.findall(each["expr"])]
            kept = grouped if is_summed else _OF_PROMETHEUS.union(*(_known()[name] for name in names))
            assert label in kept, each["alert"]


def test_every_panel_has_its_own_id_and_place() -> None:
    panels = _panels()
    assert len({each["id"] for each in panels}) == len(panels)
    places = {(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels}
    assert len(places) == len(panels)
    assert all(each["gridPos"]["x"] + each["gridPos"]["w"] <= 24 for each in panels)
