"""The in-flight window of a share partition: its runs, in order of offsets.

    start offset (SPSO)   every offset below it is done
    next offset           the first offset that was never fetched; SPEO is the one before it

The window holds a run for every offset in between, except where the log has no record any more when
a later batch is fetched. Offsets that are done stay in the window as long as an earlier one is not,
and count against the limit of locked records: the window is ``next - start`` offsets wide.
``complete_count`` is the number of done or nearly done offsets in it.

The runs are in a list, found by bisection. The limit of locked records bounds it to some thousand
entries; splitting a run into many parts replaces it in one step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from barnabas.sharing.core.offset_run import OffsetRun
from barnabas.sharing.core.record_state import RecordState


class Window:
    __slots__ = ("_firsts", "complete_count", "next_offset", "runs", "start_offset")

    def __init__(self, start_offset: int) -> None:
        self.start_offset = start_offset
        self.next_offset = start_offset
        self.complete_count = 0
        self.runs: list[OffsetRun] = []
        self._firsts: list[int] = []

    def __len__(self) -> int:
        """In offsets, holes included."""
        return self.next_offset - self.start_offset

    def index_of(self, offset: int) -> int:
        """The run that holds ``offset``, or else the first one behind it."""
        index = bisect_right(self._firsts, offset) - 1
        return index if index >= 0 and self.runs[index].last >= offset else index + 1

    def within(self, first: int, last: int) -> Iterator[OffsetRun]:
        """The runs that overlap these offsets. A run may be split while this iterates: its parts
        are not visited again.
        """
        runs, index = self.runs, self.index_of(first)
        while index < len(runs) and runs[index].first <= last:
            run = runs[index]
            following = run.last + 1
            yield run
            index = self.index_of(following)

    # -- changing ----------------------------------------------------------------------------------

    def append(self, run: OffsetRun) -> None:
        assert not self.runs or run.first > self.runs[-1].last, "runs do not overlap"
        if not self.runs:
            # Offsets before the run, if there are any, have no records in the log.
            self.start_offset = run.first
        self.runs.append(run)
        self._firsts.append(run.first)
        self.next_offset = run.last + 1

    def split(self, run: OffsetRun, cuts: Sequence[int]) -> list[OffsetRun]:
        """Split a run so that a part begins at each of ``cuts``, which are ascending and inside of
        it. The first part is the run itself, shortened.
        """
        if not cuts:
            return [run]
        index = self.index_of(run.first)
        assert self.runs[index] is run
        bounds = [*cuts, run.last + 1]
        parts = [run, *(run.part(first, following - 1) for first, following in pairwise(bounds))]
        run.last = bounds[0] - 1
        self.runs[index : index + 1] = parts
        self._firsts[index : index + 1] = [part.first for part in parts]
        return parts

    def carve(self, run: OffsetRun, first: int, last: int) -> OffsetRun:
        """The part of a run that is within ``first`` and ``last``, as a run of its own."""
        if run.first >= first and run.last <= last:
            return run
        cuts = []
        if run.first < first:
            cuts.append(first)
        if run.last > last:
            cuts.append(last + 1)
        inside = 1 if run.first < first else 0
        return self.split(run, cuts)[inside]

    def set_state(self, run: OffsetRun, state: RecordState) -> None:
        """Keeps ``complete_count`` right."""
        was_final, final = run.state >= RecordState.ACKNOWLEDGED, state >= RecordState.ACKNOWLEDGED
        if final and not was_final:
            self.complete_count += len(run)
        elif was_final and not final:
            self.complete_count -= len(run)
        run.state = state

    def advance(self) -> bool:
        """Drop the offsets at the start that are done. Returns whether there were any."""
        runs, count = self.runs, 0
        for run in runs:
            if not run.done:
                break
            self.complete_count -= len(run)
            count += 1
        if not count:
            return False
        self._drop(count)
        return True

    def drop_below(self, offset: int) -> None:
        """The log begins at ``offset`` now: earlier offsets have no records, whatever their state
        is."""
        count = 0
        for run in self.runs:
            if run.last >= offset:
                break
            count += 1
            if run.state >= RecordState.ACKNOWLEDGED:
                self.complete_count -= len(run)
        self._drop(count)
        if self.runs and self.runs[0].first < offset:
            rest = self.carve(self.runs[0], offset, self.runs[0].last)
            if rest.state >= RecordState.ACKNOWLEDGED:
                self.complete_count -= len(self.runs[0])
            self._drop(1)
        self.start_offset = max(self.start_offset, offset)
        self.next_offset = max(self.next_offset, offset)

    def _drop(self, count: int) -> None:
        if not count:
            return
        del self.runs[:count]
        del self._firsts[:count]
        self.start_offset = self.runs[0].first if self.runs else self.next_offset
