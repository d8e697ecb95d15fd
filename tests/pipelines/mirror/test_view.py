"""The display of a mirror."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from barnabas.cli.mirror.view import TOPICS_SHOWN_MAX, table
from barnabas.pipelines.mirror.report import MirrorReport, lag_by_topic


def test_lag_is_shown_by_topic() -> None:
    progress = {"sources": [{"endOffset": {"a": {"0": 5, "1": 1}}, "latestOffset": {"a": {"0": 7, "1": 1}, "b": {"0": 3}}}]}
    assert lag_by_topic(progress) == {"a": 2, "b": 3}
    assert lag_by_topic({"sources": [{"endOffset": '{"a":{"0":1}}', "latestOffset": None}]}) == {}


def test_topics_with_the_largest_lag_come_first() -> None:
    lag = {f"t{number}": number for number in range(TOPICS_SHOWN_MAX + 2)}
    report = MirrorReport("2030-01-01T00:00:00Z", 1, 10, 1234, 5, 99.5, lag, groups=2)
    out = StringIO()
    Console(file=out, width=120).print(table(report, "mirror-A-B"))
    text = out.getvalue()
    assert text.index("t21") < text.index("t20")
    assert "and 2 more" in text
    assert "1,234 records copied" in text
    assert "5 left out" in text
