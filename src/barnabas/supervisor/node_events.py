"""What a parent learns of the process of a node: that it is ready, and that it has ended."""

from __future__ import annotations

import signal

from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NodeReady:
    node_id: int
    cluster_id: str
    bootstrap: str


@dataclass(frozen=True, slots=True)
class NodeEnded:
    node_id: int
    code: int
    error: str | None  # the error sentence of a node that refused to start or to continue

    @property
    def how(self) -> str:
        if self.error is not None:
            return self.error
        return f"killed by {signal.Signals(-self.code).name}." if self.code < 0 else f"it ended with code {self.code}."
