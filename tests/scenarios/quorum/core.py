"""The core that the scenarios drive, imported in this one place."""

from __future__ import annotations

from barnabas.quorum.core import (
    control_history,
    effects,
    events,
    in_flight,
    log_outline,
    node,
    quorum,
    quorum_state,
    roles,
    settings,
    voters,
)

__all__ = [
    "control_history",
    "effects",
    "events",
    "in_flight",
    "log_outline",
    "node",
    "quorum",
    "quorum_state",
    "roles",
    "settings",
    "voters",
]
