"""The committed history, recorded by a checker that sees all nodes at once. The claims of nodes are
compared with it.

There are four claims, each about one log (the quorum's, or a partition's):

- in one epoch at most one node leads, and a node gives at most one vote;
- two nodes agree about the committed part that both have;
- a new leader has everything that leaders of earlier epochs committed;
- a node's high watermark does not fall while the node lives.

The checker learns what is committed from the first node that reports it. It does not check that the
report is right: if it was wrong, some later leader lacks the batch, which is a violation.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.simulation.violations import Violation


class Written(NamedTuple):
    """One batch in the log of some node."""

    base_offset: int
    end_offset: int
    epoch: int
    digest: int


ReadLog = Callable[[int, int], Iterable[Written]]


class Leaders:
    """The leader of each epoch, and the votes."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._led: dict[int, str] = {}
        self._votes: dict[tuple[int, str], int] = {}

    def leads(self, node: str, epoch: int) -> None:
        other = self._led.setdefault(epoch, node)
        if other != node:
            raise Violation(f"{self._what}: {node} leads epoch {epoch}, and so does {other}")

    def votes(self, node: str, epoch: int, candidate: int) -> None:
        before = self._votes.setdefault((epoch, node), candidate)
        if before != candidate:
            raise Violation(f"{self._what}: {node} votes for {candidate} in epoch {epoch}, and has voted for {before}")

    def leader_of(self, epoch: int) -> str | None:
        return self._led.get(epoch)

    @property
    def epochs(self) -> int:
        return len(self._led)

    @property
    def latest_epoch(self) -> int:
        return max(self._led, default=-1)


class CommittedLog:
    def __init__(self, what: str) -> None:
        self._what = what
        self._batches: list[Written] = []
        # How far the log was committed by leaders up to an epoch: end offsets by epoch, both
        # rising.
        self._ends_by_epoch: dict[int, int] = {}
        self._marks: dict[str, int] = {}
        self._verified: dict[str, int] = {}

    @property
    def end_offset(self) -> int:
        return self._batches[-1].end_offset if self._batches else 0

    @property
    def batches(self) -> list[Written]:
        return self._batches

    def at(self, base_offset: int) -> Written | None:
        """The batch that begins there."""
        index = bisect_left(self._batches, base_offset, key=lambda each: each.base_offset)
        found = self._batches[index] if index < len(self._batches) else None
        return found if found is not None and found.base_offset == base_offset else None

    def forget_node(self, node: str) -> None:
        """The node restarts: its log must be checked again, and its high watermark may begin
        anywhere.
        """
        self._marks.pop(node, None)
        self._verified.pop(node, None)

    def cut(self, node: str, offset: int) -> None:
        """A node's log was truncated to ``offset``."""
        if self._verified.get(node, 0) > offset:
            self._verified[node] = offset

    def committed(self, node: str, high_watermark: int, read: ReadLog, *, log_start_offset: int = 0) -> None:
        """``node`` reports that everything below ``high_watermark`` is committed; ``read(start,
        end)`` is its log.
        """
        before = self._marks.get(node, 0)
        if high_watermark < before:
            raise Violation(f"{self._what}: the high watermark of {node} falls from {before} to {high_watermark}")
        self._marks[node] = high_watermark
        self._verify(node, high_watermark, read, log_start_offset, learn=True)
        if self._batches:
            # A leader commits only behind a batch of its own epoch, so the last batch names it.
            self._ends_by_epoch[self._batches[-1].epoch] = self.end_offset

    def leads(self, node: str, log_end_offset: int, read: ReadLog, *, epoch: int | None = None, log_start_offset: int = 0) -> None:
        """``node`` becomes leader of ``epoch`` with its current log, and must have everything that
        leaders of earlier epochs committed. A node that was paused with its votes in its hands may
        learn only later that it leads, when another node has committed more in a later epoch.
        Without an ``epoch`` everything counts.
        """
        end = self.end_offset
        if epoch is not None:
            end = max((end for led, end in self._ends_by_epoch.items() if led < epoch), default=0)
        if log_end_offset < end:
            raise Violation(f"{self._what}: {node} becomes leader with a log that ends at {log_end_offset}, but {end} was committed")
        self._verify(node, end, read, log_start_offset, learn=False)

    def holds(self, node: str, end_offset: int, read: ReadLog, *, log_start_offset: int = 0) -> None:
        """``node`` must have the whole committed part below ``end_offset``, from the beginning: the
        full check at the end.
        """
        self._verified.pop(node, None)
        self._verify(node, min(end_offset, self.end_offset), read, log_start_offset, learn=False)

    def up_to(self, end_offset: int) -> tuple[int, int] | None:
        """A digest of everything committed below ``end_offset``, and the epoch of its last batch;
        None where no batch ends there.
        """
        digest = 0
        for batch in self._batches:
            digest = zlib.crc32(f"{batch}".encode(), digest)
            if batch.end_offset == end_offset:
                return digest, batch.epoch
        return None

    def stands_for(self, node: str, end_offset: int, digest: int) -> None:
        """``node`` has a snapshot in place of everything below ``end_offset``."""
        known = self.up_to(end_offset)
        if known is None or known[0] != digest:
            raise Violation(f"{self._what}: the snapshot of {end_offset} on {node} does not match the committed log")

    def _verify(self, node: str, end: int, read: ReadLog, log_start_offset: int, *, learn: bool) -> None:
        start = max(self._verified.get(node, 0), log_start_offset)
        if start >= end:
            return
        expected = start
        for batch in read(start, end):
            if batch.end_offset <= start:
                continue
            if batch.base_offset >= self.end_offset:
                if not learn:
                    break
                if batch.end_offset > end:
                    raise Violation(f"{self._what}: {node} calls half of {batch} committed")
                self._batches.append(batch)
            else:
                index = bisect_left(self._batches, batch.base_offset, key=lambda each: each.base_offset)
                known = self._batches[index] if index < len(self._batches) else None
                if known != batch:
                    raise Violation(f"{self._what}: {node} has {batch}, but {known} was committed")
            expected = batch.end_offset
        if expected < end:
            raise Violation(f"{self._what}: {node} has nothing at {expected}, but calls {end} committed or must have it")
        self._verified[node] = end
