"""A share partition on a desk: batches of the log as pairs of offsets, and its state as text."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordinators.share.persister import StateBatch
from barnabas.sharing.core.acknowledging import AcknowledgedRange, Refusal
from barnabas.sharing.core.acquiring import BATCH_OPTIMIZED, Acquired, LogBatch
from barnabas.sharing.core.delivery_change import DeliveryChange
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.core.share_partition import SharePartition

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
LOCK_MS = 30_000


class Desk:
    def __init__(
        self, start_offset: int = 0, batches: Sequence[tuple[int, int, int, int]] = (), settings: ShareGroupSettings | None = None
    ) -> None:
        self.now_ms = 1_000
        self.partition = SharePartition(start_offset, [StateBatch(*each) for each in batches], settings or ShareGroupSettings())

    def acquire(
        self,
        *log: tuple[int, int],
        member: str = "a",
        mode: int = BATCH_OPTIMIZED,
        limit: int = 500,
        batch_size: int = 500,
        aborted: Sequence[tuple[int, int]] = (),
    ) -> list[Acquired]:
        """A fetch that finds these batches; those before the fetch offset are left out, as the log
        does."""
        offset = self.partition.next_fetch_offset(self.now_ms)
        if not self.partition.can_acquire(offset):
            return []
        found = [LogBatch(*each) for each in log if each[1] >= offset]
        return self.partition.acquire(
            member,
            offset,
            found,
            mode=mode,
            records_max=limit,
            batch_size=batch_size,
            now_ms=self.now_ms,
            aborted=[LogBatch(*each) for each in aborted],
        )

    def begin(self, *ranges: tuple[int, int, int | list[int]], member: str = "a") -> DeliveryChange | Refusal:
        return self.partition.acknowledge(
            member,
            [AcknowledgedRange(first, last, types if isinstance(types, list) else [types]) for first, last, types in ranges],
            self.now_ms,
        )

    def acknowledge(self, *ranges: tuple[int, int, int | list[int]], member: str = "a", written: bool = True) -> DeliveryChange:
        change = self.begin(*ranges, member=member)
        assert isinstance(change, DeliveryChange), change
        self.partition.finish(change, written=written)
        return change

    def refused(self, *ranges: tuple[int, int, int | list[int]], member: str = "a") -> str:
        refusal = self.begin(*ranges, member=member)
        assert isinstance(refusal, Refusal), refusal
        return f"{refusal.error.name}: {refusal.message}"

    def pass_time(self, ms: int) -> list[DeliveryChange]:
        """The changes of the locks that ended, written."""
        self.now_ms += ms
        changes = self.partition.end_locks(self.now_ms)
        for change in changes:
            self.partition.finish(change, written=True)
        return changes

    @property
    def shown(self) -> str:
        runs = (
            f"{run.first}-{run.last} {run.state.name.lower()} {run.delivery_count}{'' if run.change is None else ' changing'}"
            for run in self.partition.window.runs
        )
        window = self.partition.window
        return f"{window.start_offset}..{window.next_offset}: " + ", ".join(runs)
