"""What the replicas of a node know about the rest of the cluster, and how they propose changes of
the in-sync replicas. One view serves all replicas of a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from barnabas.metadata.cluster import BrokerImage
from barnabas.model.dataclass import dataclass
from barnabas.telemetry.catalogue import ISR_CHANGES_FAILED, ISR_EXPANSIONS, ISR_SHRINKS
from barnabas.telemetry.metrics import Counter, Metrics

if TYPE_CHECKING:
    from barnabas.replication.isr import IsrChange
    from barnabas.replication.partition import Partition

DEFAULT_LAG_MS_MAX = 30_000


class IsrCounters:
    __slots__ = ("expansions", "failed", "shrinks")

    def __init__(self, metrics: Metrics) -> None:
        self.shrinks: Counter = metrics.counter(ISR_SHRINKS)
        self.expansions: Counter = metrics.counter(ISR_EXPANSIONS)
        self.failed: Counter = metrics.counter(ISR_CHANGES_FAILED)


def _no_broker(_: int) -> BrokerImage | None:
    return None


def _leave_pending(_: Partition, __: IsrChange) -> None:
    """Without a connection to the controller, a change stays pending."""


@dataclass(slots=True)
class ClusterView:
    """``propose`` must call :meth:`Partition.isr_agreed` or :meth:`Partition.isr_refused` later,
    never from inside the call."""

    broker: Callable[[int], BrokerImage | None] = _no_broker
    own_epoch: Callable[[], int] = lambda: -1
    propose: Callable[[Partition, IsrChange], None] = _leave_pending
    lag_ms_max: int = DEFAULT_LAG_MS_MAX
    counters: IsrCounters = field(default_factory=lambda: IsrCounters(Metrics()))
