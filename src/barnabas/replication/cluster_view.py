"""What a replica knows about the rest of the cluster, and its way to have the in-sync replicas changed. One for all replicas of a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.metadata.cluster import BrokerImage
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


def _nobody(_: int) -> BrokerImage | None:
    return None


def _unheard(_: Partition, __: IsrChange) -> None:
    """Where nobody asks the controller, a change stays pending."""


@dataclass(slots=True)
class ClusterView:
    """``propose`` must call :meth:`Partition.isr_agreed` or :meth:`Partition.isr_refused` later, never from inside the call."""

    broker: Callable[[int], BrokerImage | None] = _nobody
    own_epoch: Callable[[], int] = lambda: -1
    propose: Callable[[Partition, IsrChange], None] = _unheard
    lag_ms_max: int = DEFAULT_LAG_MS_MAX
    counters: IsrCounters = field(default_factory=lambda: IsrCounters(Metrics()))
