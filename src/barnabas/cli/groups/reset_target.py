"""The targets of an offset reset as the options of commands name them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from barnabas.administration.offset_reset import Partition, ToPlanned, ToTime
from barnabas.cli.errors import Refused

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
_LINE_WITHOUT_GROUP, _LINE_WITH_GROUP = 3, 4


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
