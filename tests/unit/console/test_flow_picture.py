from __future__ import annotations

from barnabas.console.core.flow_picture import BOX_WIDTH, NODES_MAX, picture_of
from barnabas.console.core.pipeline_file import may_declare, read_pipeline_file
from barnabas.console.core.pipeline_report import Flow, FlowNode

FILE = """
name: alerts
sources:
  payments: {topic: payments}
  limits: {table: limits, key: account STRING}
  orders: {jdbc: {url: "jdbc:postgresql:x?password=secret", table: shop.orders}}
steps:
  - view: rated
    join: {stream: payments, table: limits, on: account}
  - view: large
    sql: SELECT * FROM rated JOIN orders ON true WHERE note = 'from nowhere'
sinks:
  alerts: {from: large, topic: alerts}
  copy: {from: payments, files: {path: /data/copy}}
"""


def test_a_file_has_sources_steps_and_sinks_without_secrets() -> None:
    found = read_pipeline_file("alerts.yaml", FILE)
    assert found.flow is not None
    assert [(each.name, each.kind, each.inputs, each.places) for each in found.flow.nodes] == [
        ("payments", "topic", [], ["payments"]),
        ("limits", "table", [], ["limits"]),
        ("orders", "jdbc", [], ["shop.orders"]),
        ("rated", "join", ["payments", "limits"], []),
        ("large", "sql", ["rated", "orders"], []),
        ("alerts", "topic", ["large"], ["alerts"]),
        ("copy", "files", ["payments"], ["/data/copy"]),
    ]
    assert "secret" not in repr(found)


def test_a_file_that_cannot_be_read_has_a_problem() -> None:
    for text in ("a: [", "- 1", "name: 3", "[" * 50_000, "sources: {}"):
        assert read_pipeline_file("x.yaml", text).problem is not None
    odd = read_pipeline_file("x.yaml", "{name: a, sources: [1], steps: {b: 1}, sinks: {c: 3}}")
    assert odd.problem is None
    assert read_pipeline_file("model.py", "import os").pipeline == "model"


def test_boxes_stand_in_columns_and_lines_join_them() -> None:
    flow = read_pipeline_file("alerts.yaml", FILE).flow
    assert flow is not None
    picture = picture_of(flow)
    assert picture is not None
    across = {each.name: each.x for each in picture.boxes}
    assert across["payments"] == across["limits"] == across["orders"] < across["rated"] < across["large"] < across["alerts"]
    assert across["copy"] == across["alerts"]
    assert len(picture.lines) == 6
    assert len({(each.x, each.y) for each in picture.boxes}) == 7
    assert all(each.x + BOX_WIDTH <= picture.width for each in picture.boxes)


def test_a_flow_that_is_empty_or_too_large_has_no_picture() -> None:
    assert picture_of(Flow([])) is None
    assert picture_of(Flow([FlowNode(str(number), "topic", "source", [], []) for number in range(NODES_MAX + 1)])) is None
    loop = Flow([FlowNode("a", "sql", "step", ["a"], []), FlowNode("a", "topic", "sink", ["a", "nothing"], [])])
    assert picture_of(loop) is not None


def test_a_module_of_python_without_a_pipeline_is_no_file_of_one() -> None:
    assert may_declare("alerts.yaml", "name: alerts")
    assert may_declare("alerts.py", 'from barnabas.pipelines import Pipeline\n\npipeline = Pipeline("alerts")\n')
    assert not may_declare("run.py", "from barnabas.pipelines.errors import PipelineError\n")
