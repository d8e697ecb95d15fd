"""The part of a partition to read: where to start, and where to stop if anywhere.

``--offset`` takes a place or a range of two places::

    10        offset 10, then go on          10:20   offsets 10 to 19
    -5        the last five, then go on      -5:     the last five
    earliest  the first offset there is      :20     everything before offset 20
    latest    records that are yet to come   10:+5   offsets 10 to 14
    10:       from offset 10 to the end      :-5     everything but the last five

A range stops: its end is not included, and a missing end is the end that the partition has when the
command starts. kcat's ``beginning`` and ``end`` are other words for ``earliest`` and ``latest``.

Places are resolved here without any I/O, from what :mod:`~.assignment` asked the cluster for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

from barnabas.cli.errors import Refused

OFFSET_FORMS = "a number, -N, earliest, latest, or a range such as 10:20, -5: or 10:+5"
_NUMBER = re.compile(r"\d{1,18}")
_WORDS = {"earliest": "earliest", "beginning": "earliest", "latest": "latest", "end": "latest"}


@dataclass(frozen=True, slots=True)
class AtOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class AtEarliest:
    pass


@dataclass(frozen=True, slots=True)
class BeforeEnd:
    """``count`` offsets before the end; the end itself for 0."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record at or after a time; the end where there is none."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class AfterStart:
    """``count`` offsets after the start of the range. An end only."""

    count: int


Place: TypeAlias = AtOffset | AtEarliest | BeforeEnd | AtTime
End: TypeAlias = Place | AfterStart


@dataclass(frozen=True, slots=True)
class Span:
    start: Place
    end: End | None = None  # None reads on after the end


class LogEnds(NamedTuple):
    """The first offset of a partition and the offset after its last record."""

    low: int
    high: int


class Range(NamedTuple):
    start: int
    end: int | None  # not included

    @property
    def is_empty(self) -> bool:
        return self.end is not None and self.start >= self.end


def resolve(span: Span, log: LogEnds, at_time: dict[int, int | None]) -> Range:
    """``at_time`` has, for each time in the span, the offset of the first record at or after it.

    Offsets outside the log are moved to its nearer end: the records there are gone, or not written
    yet."""
    start = _clamped(_offset(span.start, log, at_time), log)
    match span.end:
        case None:
            return Range(start, None)
        case AfterStart(count):
            return Range(start, _clamped(start + count, log))
        case place:
            return Range(start, _clamped(_offset(place, log, at_time), log))


def _offset(place: Place, log: LogEnds, at_time: dict[int, int | None]) -> int:
    match place:
        case AtOffset(offset):
            return offset
        case AtEarliest():
            return log.low
        case BeforeEnd(count):
            return log.high - count
        case AtTime(timestamp_ms):
            found = at_time[timestamp_ms]
            return log.high if found is None else found
        case _:
            assert_never(place)


def _clamped(offset: int, log: LogEnds) -> int:
    return min(max(offset, log.low), log.high)


def times_of(span: Span) -> set[int]:
    return {each.timestamp_ms for each in (span.start, span.end) if isinstance(each, AtTime)}


def parse_offset(text: str) -> Span:
    if text.startswith(("s@", "e@")):
        option = "--from-time" if text.startswith("s@") else "--to-time"
        raise Refused(f"--offset takes {OFFSET_FORMS}; for {text} use {option} {text[2:]}.")
    start, colon, end = text.partition(":")
    if not colon:
        return Span(_parse_place(start, text))
    return Span(_parse_place(start, text) if start else AtEarliest(), _parse_end(end, text))


def _parse_end(end: str, text: str) -> End:
    if not end:
        return BeforeEnd()
    if end.startswith("+") and _NUMBER.fullmatch(end[1:]):
        return AfterStart(int(end[1:]))
    return _parse_place(end, text)


def _parse_place(place: str, text: str) -> Place:
    if place in _WORDS:
        return AtEarliest() if _WORDS[place] == "earliest" else BeforeEnd()
    if _NUMBER.fullmatch(place):
        return AtOffset(int(place))
    if place.startswith("-") and _NUMBER.fullmatch(place[1:]):
        return BeforeEnd(int(place[1:]))
    raise Refused(f"--offset takes {OFFSET_FORMS}, but was given {text!r}.")
