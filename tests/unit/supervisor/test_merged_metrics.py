from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.supervisor.merged_metrics import labelled, merged

FIRST = """\
# HELP requests_total Requests answered.
# TYPE requests_total counter
requests_total{api="Fetch"} 3.0
requests_total{api="Produce"} 4.0
# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{le="1.0"} 1.0
seconds_bucket{le="+Inf"} 2.0
seconds_count 2.0
seconds_sum 5.0
# HELP up Always 1.
# TYPE up gauge
up 1.0
"""
SECOND = """\
# HELP up Always 1.
# TYPE up gauge
up 1.0
# HELP requests_total Requests answered.
# TYPE requests_total counter
requests_total{api="Fetch"} 30.0
# HELP own Only here.
# TYPE own gauge
own{node_id="node-1"} 9.0
"""


def test_pages_become_one_page_with_a_label_for_the_process() -> None:
    families = {family.name: family for family in text_string_to_metric_families(merged({1: FIRST, 2: SECOND}))}
    requests = {(each.labels["process"], each.labels["api"]): each.value for each in families["requests"].samples}
    assert requests == {("1", "Fetch"): 3.0, ("1", "Produce"): 4.0, ("2", "Fetch"): 30.0}
    assert [each.labels for each in families["up"].samples] == [{"process": "1"}, {"process": "2"}]
    assert families["own"].samples[0].labels == {"process": "2", "node_id": "node-1"}
    assert families["seconds"].type == "histogram"
    assert families["own"].documentation == "Only here."


def test_the_lines_of_a_metric_stand_together() -> None:
    lines = merged({1: FIRST, 2: SECOND}).splitlines()
    assert [line for line in lines if line.startswith("# TYPE")] == [
        "# TYPE requests_total counter",
        "# TYPE seconds histogram",
        "# TYPE up gauge",
        "# TYPE own gauge",
    ]
    assert lines[2:5] == [
        'requests_total{process="1",api="Fetch"} 3.0',
        'requests_total{process="1",api="Produce"} 4.0',
        'requests_total{process="2",api="Fetch"} 30.0',
    ]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("up 1.0", 'up{process="7"} 1.0'),
        ('a{b="c"} 1', 'a{process="7",b="c"} 1'),
        ("a{} 1", 'a{process="7"} 1'),
        ('a{b="x y{z}"} 1', 'a{process="7",b="x y{z}"} 1'),
    ],
)
def test_a_sample_gets_one_label_more(sample: str, expected: str) -> None:
    assert labelled(sample, 7) == expected


def test_no_pages_are_an_empty_page() -> None:
    assert merged({}) == ""
