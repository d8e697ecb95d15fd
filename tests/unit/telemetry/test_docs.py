"""The metrics and settings on the pages of the documentation exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.topic_keys import TOPIC_KEYS
from barnabas.node.group_lag import INTERVAL_SECONDS, SERIES_MAX
from barnabas.telemetry.catalogue import CATALOGUE
from barnabas.telemetry.docs import page, section_of

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ["log_life.md", "tiered_storage.md"]


def test_the_page_of_metrics_is_what_the_catalogue_prints() -> None:
    assert (DOCS / "metrics.md").read_text() == page(), "run: python -m barnabas.telemetry.docs > docs/metrics.md"


def test_the_page_of_metrics_has_every_metric_in_one_section() -> None:
    text = page()
    for metric in CATALOGUE:
        assert section_of(metric) is not None, metric.name
        assert text.count(f"- `{metric.name}`: ") == 1


def test_the_page_of_metrics_states_the_limits_in_force() -> None:
    assert f"every {INTERVAL_SECONDS:g} s, for at most {SERIES_MAX:,} partitions" in page()


@pytest.mark.parametrize("page", PAGES)
def test_every_metric_on_a_page_is_in_the_catalogue(page: str) -> None:
    known = {metric.name for metric in CATALOGUE}
    told = set(re.findall(r"`(barnabas_[a-z_]+)`", (DOCS / page).read_text()))
    assert len(told) > 8
    assert told <= known


@pytest.mark.parametrize("page", PAGES)
def test_every_setting_on_a_page_exists(page: str) -> None:
    known = BROKER_KEYS.keys() | TOPIC_KEYS.keys()
    # Dotted words that are not files: settings, unless they are passed on to the store or the
    # metadata topic, or belong to a client.
    told = set(
        re.findall(
            r"`((?:log|remote|cleanup|retention|local|segment|file|min|max|delete|cordoned)\.[a-z.]+[a-z])(?:=[^`]*)?`",
            (DOCS / page).read_text(),
        )
    )
    assert len(told) > 10
    assert {name for name in told if not name.startswith("remote.log.storage.config")} <= known
