"""Offsets of a reset as text and as a table. Pure.

A line is ``topic,partition,offset``, as Kafka's tool and ``barnabas groups reset-offsets --export``
write them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.administration.offset_reset import LogEnds, Partition, Plan
from barnabas.console.errors import BadValue

# Partitions of one reset. A group with more is a job for the command.
PARTITIONS_MAX: Final = 20_000
_COLUMNS: Final = 3


@dataclass(frozen=True, slots=True)
class ResetRow:
    topic: str
    partition: int
    current: int | None
    new: int
    difference: int | None
    """Records that are skipped, or read again if negative."""
    lag: int
    """After the reset."""


def read_offsets(text: str) -> dict[Partition, int]:
    found: dict[Partition, int] = {}
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        if not row:
            continue
        if len(row) != _COLUMNS or not row[0] or not all(each.strip().isdecimal() and len(each) <= 19 for each in row[1:]):
            raise BadValue(f"Line {number} is not topic,partition,offset: {','.join(row)[:80]!r}.", "offsets")
        found[Partition(row[0].strip(), int(row[1]))] = int(row[2])
    if not found:
        raise BadValue("offsets has no line topic,partition,offset.", "offsets")
    if len(found) > PARTITIONS_MAX:
        raise BadValue(f"A reset has at most {PARTITIONS_MAX} partitions here.", "offsets")
    return found


def offsets_text(offsets: Mapping[Partition, int]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((each.topic, each.number, offset) for each, offset in offsets.items())
    return text.getvalue()


def reset_rows(plan: Plan, committed: Mapping[Partition, int], ends: Mapping[Partition, LogEnds]) -> list[ResetRow]:
    return [
        ResetRow(
            each.topic,
            each.number,
            committed.get(each),
            new,
            new - committed[each] if each in committed else None,
            ends[each].end - new,
        )
        for each, new in plan.offsets.items()
    ]
