"""``/health`` and ``/ready`` of several processes as one answer.

Health asks whether a restart of the whole would help. A process that waits for its restart is
already cared for, and one that starts may have no page yet, so both count as healthy. A process
that serves and does not answer is stuck.

The whole is ready when every process is.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from barnabas.model.dataclass import dataclass
from barnabas.supervisor.supervision import State


@dataclass(frozen=True, slots=True)
class Probe:
    """The state of one process, and the answer of its own page."""

    state: State
    status: int | None  # of its own page; None if it did not answer
    fields: Mapping[str, Any]


def health(probes: Mapping[int, Probe]) -> tuple[HTTPStatus, dict[str, Any]]:
    reasons = [reason for node_id, probe in probes.items() for reason in _stuck(node_id, probe)]
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return status, {"status": "stuck" if reasons else "alive", "reasons": reasons, "processes": _states(probes)}


def readiness(probes: Mapping[int, Probe]) -> tuple[HTTPStatus, dict[str, Any]]:
    reasons = [f"Node {node_id}: {reason}" for node_id, probe in probes.items() for reason in _not_ready(probe)]
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return status, {"status": "not ready" if reasons else "ready", "reasons": reasons, "processes": _states(probes)}


def _stuck(node_id: int, probe: Probe) -> list[str]:
    if probe.status is None:
        return [f"Node {node_id}: The process does not answer."] if probe.state is State.SERVING else []
    return [] if probe.status == HTTPStatus.OK else [f"Node {node_id}: {reason}" for reason in _reasons(probe)]


def _not_ready(probe: Probe) -> list[str]:
    if probe.state not in (State.STARTING, State.SERVING):
        return [f"The process is {probe.state.value}."]
    if probe.status is None:
        return ["The process does not answer." if probe.state is State.SERVING else "The process starts."]
    return [] if probe.status == HTTPStatus.OK else _reasons(probe)


def _reasons(probe: Probe) -> list[str]:
    return [str(each) for each in probe.fields.get("reasons", ())] or [f"It answers with {probe.status}."]


def _states(probes: Mapping[int, Probe]) -> list[dict[str, Any]]:
    return [{"node_id": node_id, "state": probe.state.value} for node_id, probe in probes.items()]
