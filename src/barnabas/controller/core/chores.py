"""Periodic work of the controller: it gives leadership back to preferred leaders, elects unclean
leaders for partitions without a leader whose topics allow that, and removes expired delegation
tokens. An unclean election is also due as soon as a setting allows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.config.settings import BrokerSettings
from barnabas.controller.core.delegation_tokens import expired_tokens
from barnabas.controller.core.elections import balance_leaders, elect_unclean
from barnabas.controller.core.partitions import UNCLEAN_ELECTION_ENABLE, Partitions
from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord

# A chore returns its records, and whether there may be more to do. It gets the partitions as they
# are now, with the image around them, and the time of day.
Run = Callable[[Partitions, int], tuple[Sequence[MetadataRecord], bool]]


@dataclass(slots=True)
class Chore:
    run: Run
    interval_ms: int
    due_ms: int


class Chores:
    def __init__(self, settings: BrokerSettings, *, now_ms: int) -> None:
        interval_ms = settings.integer("unclean.leader.election.interval.ms")
        self._unclean = Chore(_of_partitions(elect_unclean), interval_ms, now_ms + interval_ms)
        self._chores = [self._unclean]
        if settings.flag("auto.leader.rebalance.enable"):
            interval_ms = settings.integer("leader.imbalance.check.interval.seconds") * 1000
            self._chores.append(Chore(_of_partitions(balance_leaders), interval_ms, now_ms + interval_ms))
        if settings.text_or_none("delegation.token.secret.key") is not None:
            interval_ms = settings.integer("delegation.token.expiry.check.interval.ms")
            self._chores.append(Chore(_remove_expired_tokens, interval_ms, now_ms + interval_ms))

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


def _of_partitions(job: Callable[[Partitions], bool]) -> Run:
    def run(partitions: Partitions, _wall_ms: int) -> tuple[Sequence[MetadataRecord], bool]:
        more = job(partitions)
        return partitions.records, more

    return run


def _remove_expired_tokens(partitions: Partitions, wall_ms: int) -> tuple[Sequence[MetadataRecord], bool]:
    return expired_tokens(partitions.image, wall_ms=wall_ms)
