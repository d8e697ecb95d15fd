"""The settings and ports that every part of a node needs: clock, disk, entropy, threads,
metrics and log."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.config.settings import BrokerSettings
from barnabas.env.clock import Clock
from barnabas.env.disk import Disk
from barnabas.env.entropy import Entropy
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import NodeId
from barnabas.telemetry.logs import EventLog
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
    log: EventLog
    # Called with an error after which the node cannot continue.
    fatal: Callable[[BaseException], None]
