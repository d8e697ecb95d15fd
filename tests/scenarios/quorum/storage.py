"""The metadata directory of a scripted node: what survives a crash, and what does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.records.batches import walk
from tests.scenarios.quorum.core import control_history, log_outline, quorum_state


class Batch(NamedTuple):
    base_offset: int
    end_offset: int
    epoch: int
    data: bytes


class Snapshot(NamedTuple):
    """``changes`` are the control records in it; ``data`` stands for the rest."""

    data: bytes
    changes: tuple[control_history.ControlChange, ...]
    damaged: bool = False


def batches_in(data: bytes | memoryview) -> list[Batch]:
    return [
        Batch(header.base_offset, header.last_offset + 1, header.leader_epoch, bytes(data[position : position + header.size_bytes]))
        for position, header in walk(data)
    ]


@dataclass(slots=True)
class MetadataDirectory:
    state: quorum_state.QuorumState = field(default_factory=quorum_state.QuorumState)
    batches: list[Batch] = field(default_factory=list)
    synced_offset: int = 0
    start_offset: int = 0
    snapshots: dict[log_outline.OffsetAndEpoch, Snapshot] = field(default_factory=dict)

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start_offset

    def outline(self) -> log_outline.LogOutline:
        epochs: list[log_outline.EpochStart] = []
        for batch in self.batches:
            if not epochs or batch.epoch > epochs[-1].epoch:
                epochs.append(log_outline.EpochStart(batch.epoch, batch.base_offset))
        return log_outline.LogOutline(self.start_offset, self.end_offset, epochs, sorted(self.snapshots), self.end_offset)

    def changes(self) -> list[control_history.ControlChange]:
        """What the latest snapshot and the log behind it say about voters and kraft.version."""
        latest = max(self.snapshots, default=None)
        changes = list(self.snapshots[latest].changes) if latest is not None else []
        for batch in self.batches:
            if latest is None or batch.base_offset >= latest.offset:
                for _, header in walk(batch.data):
                    changes += control_history.control_changes(header, batch.data)
        return changes

    def append(self, batches: list[Batch]) -> None:
        assert batches[0].base_offset == self.end_offset, f"a batch at {batches[0].base_offset} behind a log that ends at {self.end_offset}"
        self.batches += batches

    def read(self, offset: int, size_bytes_max: int) -> bytes:
        """Whole batches, and at least one."""
        found = b""
        for batch in self.batches:
            if batch.end_offset > offset and (not found or len(found) + len(batch.data) <= size_bytes_max):
                found += batch.data
        return found

    def truncate(self, end_offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch.end_offset <= end_offset]
        self.synced_offset = min(self.synced_offset, self.end_offset)

    def restart_at(self, offset: int) -> None:
        self.batches, self.start_offset, self.synced_offset = [], offset, offset

    def crash(self) -> None:
        self.truncate(self.synced_offset)
