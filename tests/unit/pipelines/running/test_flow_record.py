from __future__ import annotations

import json

from barnabas.pipelines import Pipeline
from barnabas.pipelines.running.flow_record import flow_key, flow_record


def test_the_record_has_the_flow_and_no_secrets() -> None:
    pipeline = Pipeline("alerts", kafka={"sasl.password": "hidden"}, trigger="10 seconds")
    pipeline.source("payments", topic="payments", schema="account STRING, cents BIGINT", dead_letters={"topic": "payments.bad"})
    pipeline.source("orders", jdbc={"url": "jdbc:sqlite:/x", "user": "a", "password": "hidden", "table": "orders"})
    pipeline.step("large", sql="SELECT * FROM payments WHERE account <> 'hidden'")
    pipeline.sink("out", from_="large", topic="alerts")
    found = flow_record(pipeline.declaration())
    assert "hidden" not in json.dumps(found)
    assert (flow_key("alerts"), found["interval_ms"]) == ("alerts.-flow", 10_000)
    assert [(each["name"], each["places"]) for each in found["sources"]] == [("payments", ["payments"]), ("orders", ["orders"])]
    assert found["sources"][0]["dead_letters"] == "payments.bad"
    assert found["steps"] == [{"name": "large", "kind": "sql", "inputs": ["payments"]}]
    assert found["sinks"] == [{"name": "out", "kind": "topic", "inputs": ["large"], "places": ["alerts"]}]
