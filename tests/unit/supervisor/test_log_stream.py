from __future__ import annotations

import json

from barnabas.supervisor.log_stream import stream_line

NOW = "2026-01-01T00:00:00Z"


def test_an_event_passes_as_it_is() -> None:
    line = '{"node_id": 2, "event": "node ready"}\n'
    assert stream_line(line, 2, is_json=True, timestamp=NOW) == line


def test_a_line_that_is_no_event_becomes_one_with_the_id_of_its_node() -> None:
    event = json.loads(stream_line("Traceback:\n", 2, is_json=True, timestamp=NOW))
    assert (event["node_id"], event["output"], event["timestamp"]) == (2, "Traceback:", NOW)


def test_text_passes_as_it_is() -> None:
    assert stream_line("12:00 INFO node ready\n", 2, is_json=False, timestamp=NOW) == "12:00 INFO node ready\n"
