"""Periodic work of the controller: it gives leadership back to preferred leaders, and elects
unclean leaders for partitions without a leader whose topics allow that. The latter is also due as
soon as a setting allows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barnabas.config.settings import BrokerSettings
from barnabas.controller.core.elections import balance_leaders, elect_unclean
from barnabas.controller.core.partitions import UNCLEAN_ELECTION_ENABLE, Partitions
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord


@dataclass(slots=True)
class Chore:
    run: Callable[[Partitions], bool]  # returns whether there may be more to do
    interval_ms: int
    due_ms: int


class Chores:
    def __init__(self, settings: BrokerSettings, *, now_ms: int) -> None:
        interval_ms = settings.integer("unclean.leader.election.interval.ms")
        self._unclean = Chore(elect_unclean, interval_ms, now_ms + interval_ms)
        self._chores = [self._unclean]
        if settings.flag("auto.leader.rebalance.enable"):
            interval_ms = settings.integer("leader.imbalance.check.interval.seconds") * 1000
            self._chores.append(Chore(balance_leaders, interval_ms, now_ms + interval_ms))

    def due(self, now_ms: int) -> list[Chore]:
        return [chore for chore in self._chores if chore.due_ms <= now_ms]

    def done(self, chore: Chore, *, now_ms: int, more: bool) -> None:
        chore.due_ms = now_ms if more else now_ms + chore.interval_ms

    def notice(self, records: Sequence[MetadataRecord], *, now_ms: int) -> None:
        if any(isinstance(record, ConfigRecord) and record.name == UNCLEAN_ELECTION_ENABLE for record in records):
            self._unclean.due_ms = now_ms

    @property
    def next_deadline_ms(self) -> int:
        return min(chore.due_ms for chore in self._chores)
