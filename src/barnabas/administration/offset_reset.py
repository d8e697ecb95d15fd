"""The targets of an offset reset, and the offsets that follow from them.

An offset outside a log is moved to the nearer end of the log, with a remark. Otherwise
``auto.offset.reset`` of the group's consumers would choose another offset, which is hardly what the
user wants.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, assert_never


class ResetRefused(ValueError):
    """A sentence for the person who asks for the reset."""


class Partition(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"partition {self.number} of topic {self.topic}"


class LogEnds(NamedTuple):
    """The log start offset, and the offset of the next record that consumers will see."""

    start: int
    end: int


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
    """Raises :class:`ResetRefused` when a partition has no leader, or no committed offset to
    shift."""
    plan = Plan()
    for partition in sorted(partitions):
        ends = known.ends.get(partition)
        if ends is None:
            raise ResetRefused(f"The log's ends are unknown: {partition} does not exist or has no leader.")
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
                raise ResetRefused(f"There is no committed offset to shift in {partition}.")
            return known.committed[partition] + count
        case ToTime():
            found = known.at_time[partition]
            if found is None:
                remarks.append(f"{partition} has no record at or after that time, so its end is used.")
            return ends.end if found is None else found
        case _:
            assert_never(target)
