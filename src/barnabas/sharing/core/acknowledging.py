"""Acknowledging: what a member says about offsets that it holds.

An acknowledgement names ranges, each with one type for all of its offsets or one type for each. A
range is accepted only if the member holds every offset of it. The first range that is refused
undoes the whole request for this share partition; renewed locks stay renewed.

Ranges below the start of the window are ignored: their records are done, or gone from the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.sharing.core.delivery_change import DeadLetterSpan, DeliveryChange
from barnabas.sharing.core.offset_run import OffsetRun
from barnabas.sharing.core.record_state import AcknowledgeType, RecordState
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.core.window import Window

REJECTED = "The record was rejected by a member of the share group."
LIMIT_REACHED = "The record reached the delivery count limit of the share group."

_STATES: Mapping[int, RecordState] = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}


class AcknowledgedRange(NamedTuple):
    """``types`` has one entry, or one for each offset."""

    first: int
    last: int
    types: Sequence[int]


class Refusal(NamedTuple):
    error: ErrorCode
    message: str


class Acknowledgement:
    """One request of a member, applied range by range."""

    __slots__ = ("_member_id", "_now_ms", "_settings", "_window", "change")

    def __init__(self, window: Window, settings: ShareGroupSettings, member_id: str, now_ms: int) -> None:
        self._window = window
        self._settings = settings
        self._member_id = member_id
        self._now_ms = now_ms
        self.change = DeliveryChange()

    def apply(self, each: AcknowledgedRange) -> Refusal | None:
        window = self._window
        if each.last < window.start_offset:
            return None
        first = max(each.first, window.start_offset)
        refusal = self._refuse_unknown(first, each.last)
        if refusal is not None:
            return refusal
        for run in window.within(first, each.last):
            refusal = self._refuse(run)
            if refusal is not None:
                return refusal
            for part, kind in self._parts(run, each, first):
                refusal = self._acknowledge(part, kind)
                if refusal is not None:
                    return refusal
        return None

    def _parts(self, run: OffsetRun, each: AcknowledgedRange, first: int) -> Iterable[tuple[OffsetRun, int]]:
        """The acknowledged part of a run, split where the type changes."""
        begin, end = max(run.first, first), min(run.last, each.last)
        if len(each.types) == 1:
            return ((self._window.carve(run, begin, end), each.types[0]),)
        kinds, starts = [], []
        for kind, same in groupby(each.types[begin - each.first : end - each.first + 1]):
            kinds.append(kind)
            starts.append(begin)
            begin += len(list(same))
        if end < run.last:
            starts.append(end + 1)
        whole = starts[0] == run.first
        parts = self._window.split(run, starts[1:] if whole else starts)
        return zip(parts if whole else parts[1:], kinds, strict=False)

    def _refuse_unknown(self, first: int, last: int) -> Refusal | None:
        runs = self._window.runs
        if not runs or runs[0].first > first:
            return Refusal(ErrorCode.INVALID_RECORD_STATE, "Batch record not found. The request batch offsets are not found in the cache.")
        index = self._window.index_of(last)
        end = runs[index].last if index < len(runs) and runs[index].first <= last else runs[index - 1].last
        if end < first:
            return Refusal(ErrorCode.INVALID_REQUEST, "Batch record not found. The first offset in request is past acquired records.")
        if end < last:
            return Refusal(ErrorCode.INVALID_REQUEST, "Batch record not found. The last offset in request is past acquired records.")
        return None

    def _refuse(self, run: OffsetRun) -> Refusal | None:
        if run.locked and run.member_id == self._member_id:
            return None
        if not run.locked:
            message = (
                "The batch cannot be acknowledged. The batch is not in the acquired state."
                if run.is_whole
                else "The offset cannot be acknowledged. The offset is not acquired."
            )
        else:
            message = "Member is not the owner of batch record" if run.is_whole else "Member is not the owner of offset"
        return Refusal(ErrorCode.INVALID_RECORD_STATE, message)

    def _acknowledge(self, run: OffsetRun, kind: int) -> Refusal | None:
        settings = self._settings
        if kind == AcknowledgeType.RENEW:
            if not settings.renew_enabled:
                return Refusal(ErrorCode.INVALID_RECORD_STATE, "Renewing acquisition locks is not enabled for the group.")
            run.lock_ends_ms = self._now_ms + settings.lock_duration_ms
            return None
        state = _STATES[kind]
        if state is RecordState.AVAILABLE:
            run.hidden_until_ms = self._now_ms + settings.hidden_ms(run.delivery_count)
        reason = REJECTED if kind == AcknowledgeType.REJECT else None
        begin_change(self._window, run, state, self.change, settings, reason)
        return None


def begin_change(
    window: Window,
    run: OffsetRun,
    state: RecordState,
    change: DeliveryChange,
    settings: ShareGroupSettings,
    reason: str | None = None,
) -> None:
    """Give a locked run its next state; the change is not final yet. A record that was delivered
    too often is archived instead of released. ``reason`` makes it a dead letter, if the group wants
    them."""
    if state is RecordState.AVAILABLE and run.delivery_count >= settings.delivery_count_limit:
        state, reason = RecordState.ARCHIVED, LIMIT_REACHED
    if reason is not None and settings.dead_letters:
        change.letters.append(DeadLetterSpan(run.first, run.last, run.delivery_count, reason))
    change.add(run.first, run.last, state, run.delivery_count)
    run.change = change
    window.set_state(run, state)
