from __future__ import annotations

from barnabas.supervisor.merged_probes import Probe, health, readiness
from barnabas.supervisor.supervision import State

READY = Probe(State.SERVING, 200, {"status": "ready", "reasons": []})
FENCED = Probe(State.SERVING, 503, {"status": "not ready", "reasons": ["The broker is fenced."]})
STUCK = Probe(State.SERVING, 503, {"status": "stuck", "reasons": ["The event loop has not turned for 5 s."]})
SILENT = Probe(State.SERVING, None, {})
WAITING = Probe(State.WAITING, None, {})
STARTING = Probe(State.STARTING, None, {})


def test_the_whole_is_ready_when_every_process_is() -> None:
    status, fields = readiness({1: READY, 2: READY})
    assert (status, fields["status"], fields["reasons"]) == (200, "ready", [])
    assert fields["processes"] == [{"node_id": 1, "state": "serving"}, {"node_id": 2, "state": "serving"}]


def test_the_reasons_of_a_process_that_is_not_ready_name_its_node() -> None:
    status, fields = readiness({1: READY, 2: FENCED, 3: SILENT, 4: WAITING, 5: STARTING})
    assert status == 503
    assert fields["reasons"] == [
        "Node 2: The broker is fenced.",
        "Node 3: The process does not answer.",
        "Node 4: The process is waiting to be restarted.",
        "Node 5: The process starts.",
    ]


def test_a_stuck_or_silent_process_makes_the_whole_unhealthy() -> None:
    assert health({1: READY, 2: READY})[0] == 200
    status, fields = health({1: STUCK, 2: SILENT})
    assert (status, fields["status"]) == (503, "stuck")
    assert fields["reasons"] == ["Node 1: The event loop has not turned for 5 s.", "Node 2: The process does not answer."]


def test_a_process_that_starts_or_waits_for_its_restart_is_healthy() -> None:
    assert health({1: READY, 2: WAITING, 3: STARTING})[0] == 200
