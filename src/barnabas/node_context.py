"""What every part of a node stands on: its settings, its ports to the outside, where it counts and where it speaks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from barnabas.config.settings import BrokerSettings
from barnabas.env.clock import Clock
from barnabas.env.disk import Disk
from barnabas.env.entropy import Entropy
from barnabas.model.ids import NodeId
from barnabas.telemetry.logs import Log
from barnabas.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class NodeContext:
    settings: BrokerSettings
    node_id: NodeId
    cluster_id: str
    disk: Disk
    clock: Clock
    entropy: Entropy
    executor: Executor
    metrics: Metrics
    log: Log
    # The node cannot go on.
    fatal: Callable[[BaseException], None]
