"""The targets of an offset reset, and the offsets that follow from them.

An offset outside a log is moved to the nearer end of the log, with a remark. Otherwise
``auto.offset.reset`` of the group's consumers would choose another offset, which is hardly what the
user wants.
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
    """The committed offset, or the log's end where there is none: for exporting, and to keep
    offsets from expiring."""


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
    """The offsets that the cluster reports for the partitions to reset."""

    ends: Mapping[Partition, LogEnds]
    committed: Mapping[Partition, int] = field(default_factory=dict)
    at_time: Mapping[Partition, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class Plan:
    offsets: dict[Partition, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def plan_reset(target: Target, partitions: Collection[Partition], known: Known) -> Plan:
    """Raises ``Refused`` when a partition has no leader, or no committed offset to shift."""
    plan = Plan()
    for partition in sorted(partitions):
        ends = known.ends.get(partition)
        if ends is None:
            raise Refused(f"The log's ends are unknown: {partition} does not exist or has no leader.")
        wanted = _wanted(target, partition, ends, known, plan.remarks)
        plan.offsets[partition] = min(max(wanted, ends.start), ends.end)
        if wanted != plan.offsets[partition]:
            place = f"before the start of {partition}" if wanted < ends.start else f"after the end of {partition}"
            plan.remarks.append(f"Offset {wanted} is {place}, so {plan.offsets[partition]} is used.")
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
                remarks.append(f"{partition} has no record at or after that time, so its end is used.")
            return ends.end if found is None else found
        case _:
            assert_never(target)


def parse_datetime(text: str) -> ToTime:
    """ISO 8601. A time without a zone is UTC, as in Kafka's tool."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise Refused(f"--to-datetime takes a time such as 2026-01-31T12:00:00.000, but was given {text!r}.") from error
    return ToTime(round((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000))


def parse_duration(text: str, *, now_ms: int) -> ToTime:
    """A time that long ago. ISO 8601, with days as the largest unit: longer units differ in
    length."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise Refused(f"--by-duration takes days, hours, minutes and seconds such as P1DT2H30M15S, but was given {text!r}.")
    days, hours, minutes, seconds = (float(each or 0) for each in found.groups())
    try:
        duration = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as error:
        raise Refused(f"--by-duration {text} reaches further back than any record.") from error
    # Timestamps below zero have special meanings, and no record is that old.
    return ToTime(max(0, now_ms - round(duration.total_seconds() * 1000)))


def parse_plan(lines: Iterable[str], group_id: str, name: str) -> ToPlanned:
    """Lines that ``--export`` wrote, ours or Kafka's: ``topic,partition,offset``, or with the group
    in front when the file covers several groups."""
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
        except ValueError as error:
            raise Refused(
                f"{name} must have topic,partition,offset in each line, but line {reader.line_num} is {','.join(row)!r}."
            ) from error
        if len(row) == _LINE_WITHOUT_GROUP or row[0] == group_id:
            offsets[partition] = wanted
    if not offsets:
        raise Refused(f"{name} has no offsets of group {group_id}.")
    return ToPlanned(offsets)
