"""Where a group shall read on: what may be asked for, and the offsets that follow from it.

An offset outside a log is moved to its nearer end, with a remark: a group that is sent where no records are would be sent elsewhere
by its own ``auto.offset.reset``, which is hardly what was asked for.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, assert_never

from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import LogEnds, Partition

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
_LINE_WITHOUT_GROUP, _LINE_WITH_GROUP = 3, 4


@dataclass(frozen=True, slots=True)
class ToEarliest:
    pass


@dataclass(frozen=True, slots=True)
class ToLatest:
    pass


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """What was committed, and the log's end where nothing was: for exporting, and for keeping offsets from expiring."""


@dataclass(frozen=True, slots=True)
class ToTime:
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ToOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    count: int


@dataclass(frozen=True, slots=True)
class ToPlanned:
    offsets: Mapping[Partition, int]


Target: TypeAlias = ToEarliest | ToLatest | ToCurrent | ToTime | ToOffset | ShiftBy | ToPlanned


@dataclass(frozen=True, slots=True)
class Known:
    """What the cluster says about the partitions that are reset."""

    ends: Mapping[Partition, LogEnds]
    committed: Mapping[Partition, int] = field(default_factory=dict)
    at_time: Mapping[Partition, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class Plan:
    offsets: dict[Partition, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def plan_reset(target: Target, partitions: Collection[Partition], known: Known) -> Plan:
    """``Refused`` when a partition has no leader to ask, or nothing to shift."""
    plan = Plan()
    for partition in sorted(partitions):
        ends = known.ends.get(partition)
        if ends is None:
            raise Refused(f"The log's ends are unknown: {partition} does not exist or has no leader.")
        wanted = _wanted(target, partition, ends, known, plan.remarks)
        plan.offsets[partition] = min(max(wanted, ends.start), ends.end)
        if wanted != plan.offsets[partition]:
            place = f"before the start of {partition}" if wanted < ends.start else f"behind the end of {partition}"
            plan.remarks.append(f"Offset {wanted} is {place}, so {plan.offsets[partition]} is taken.")
    return plan


def _wanted(target: Target, partition: Partition, ends: LogEnds, known: Known, remarks: list[str]) -> int:
    match target:
        case ToEarliest():
            return ends.start
        case ToLatest():
            return ends.end
        case ToCurrent():
            return known.committed.get(partition, ends.end)
        case ToOffset(offset):
            return offset
        case ToPlanned(offsets):
            return offsets[partition]
        case ShiftBy(count):
            if partition not in known.committed:
                raise Refused(f"There is no committed offset to shift in {partition}.")
            return known.committed[partition] + count
        case ToTime():
            found = known.at_time[partition]
            if found is None:
                remarks.append(f"No record of {partition} is of that time or later, so its end is taken.")
            return ends.end if found is None else found
        case _:
            assert_never(target)


def parse_datetime(text: str) -> ToTime:
    """ISO 8601. Without a zone it is UTC, as Kafka's tool takes it."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise Refused(f"--to-datetime takes a time such as 2026-01-31T12:00:00.000, but was given {text!r}.") from wrong
    return ToTime(round((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000))


def parse_duration(text: str, *, now_ms: int) -> ToTime:
    """So long before now. ISO 8601, of which a duration has days at most: longer units differ in length."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise Refused(f"--by-duration takes days, hours, minutes and seconds such as P1DT2H30M15S, but was given {text!r}.")
    days, hours, minutes, seconds = (float(each or 0) for each in found.groups())
    try:
        duration = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as wrong:
        raise Refused(f"--by-duration {text} is longer than there have been records.") from wrong
    # Before 1970 there are special timestamps, and no records.
    return ToTime(max(0, now_ms - round(duration.total_seconds() * 1000)))


def parse_plan(lines: Iterable[str], group_id: str, name: str) -> ToPlanned:
    """What ``--export`` wrote, ours or Kafka's: ``topic,partition,offset``, or with the group in front, then of several groups."""
    offsets: dict[Partition, int] = {}
    reader = csv.reader(lines)
    for row in reader:
        if not row:
            continue
        try:
            if len(row) not in (_LINE_WITHOUT_GROUP, _LINE_WITH_GROUP):
                raise ValueError(f"{len(row)} columns")
            topic, number, offset = row[-_LINE_WITHOUT_GROUP:]
            partition, wanted = Partition(topic, int(number)), int(offset)
        except ValueError as wrong:
            raise Refused(f"{name} has topic,partition,offset in each line, but line {reader.line_num} is {','.join(row)!r}.") from wrong
        if len(row) == _LINE_WITHOUT_GROUP or row[0] == group_id:
            offsets[partition] = wanted
    if not offsets:
        raise Refused(f"{name} says nothing about group {group_id}.")
    return ToPlanned(offsets)
