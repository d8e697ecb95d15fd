"""The series of clients on the metrics page, read by Prometheus' own parsers."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from barnabas.client_metrics.page_families import families_of
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.prometheus import Exposition

SERIES = [
    ("x", True, (("topic", "t"),), 1.0),
    ("x", False, (("topic", "t"),), 2.0),
    ("x_value", False, (("topic", "u"),), 3.0),
    ("y", False, (("topic", 'a"} 1\nz 2 # \\'),), float("nan")),
    ("y", False, (("topic", 'a"} 1\nz 2 # \\'),), 4.0),
    ("z", False, (("le", "2"), ("quantile", "1")), float("inf")),
]


@pytest.fixture
def registry() -> CollectorRegistry:
    metrics = Metrics()
    metrics.families.append(lambda: families_of(SERIES))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(metrics))
    return registry


def test_both_formats_have_every_family_and_every_series_once(registry: CollectorRegistry) -> None:
    for accepted, parser in (("text/plain", parse), ("application/openmetrics-text", parse_openmetrics)):
        encode, _ = choose_encoder(accepted)
        families = list(parser(encode(registry).decode()))
        names = [family.name for family in families]
        assert len(names) == len(set(names))
        samples = {(sample.name, tuple(sample.labels.items())): sample.value for family in families for sample in family.samples}
        assert samples == {
            ("x_total", (("topic", "t"),)): 1.0,
            ("x_value", (("topic", "t"),)): 2.0,
            ("x_value", (("topic", "u"),)): 3.0,
            ("y", (("topic", 'a"} 1\nz 2 # \\'),)): 4.0,
            ("z", (("le", "2"), ("quantile", "1"))): float("inf"),
        }
