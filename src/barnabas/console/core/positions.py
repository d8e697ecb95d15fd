"""Where a reader of a topic stands: an offset for each partition. Pure.

``0:17,2:5`` is partition 0 at offset 17 and partition 2 at offset 5; addresses of pages carry it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.console.core.topic import Bounds
from barnabas.console.errors import BadValue

# Positions in one address; browsers and servers refuse longer addresses.
POSITIONS_MAX: Final = 400
_POSITION: Final = re.compile(r"(\d{1,9}):(\d{1,18})")


def read_positions(text: str) -> dict[int, int]:
    parts = [each for each in text.split(",") if each]
    found = [_POSITION.fullmatch(each) for each in parts]
    if len(parts) > POSITIONS_MAX or any(each is None for each in found):
        raise BadValue("Positions are partition:offset, separated by commas, such as 0:17,2:5.", "positions")
    return {int(each[1]): int(each[2]) for each in found if each is not None}


def positions_text(positions: Mapping[int, int]) -> str | None:
    """None for more positions than an address holds."""
    if len(positions) > POSITIONS_MAX:
        return None
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(positions.items()))


def newest_starts(bounds: Mapping[int, Bounds], records_max: int) -> dict[int, int]:
    """The newest records of a topic may all be in one partition, so each is read that far back."""
    return {each: max(bound.start, bound.end - records_max) for each, bound in bounds.items()}


def within(positions: Mapping[int, int], bounds: Mapping[int, Bounds]) -> dict[int, int]:
    """Positions that exist: deleted offsets become the first one, those behind the end the end."""
    return {each: min(max(offset, bounds[each].start), bounds[each].end) for each, offset in positions.items() if each in bounds}


def unfinished(positions: Mapping[int, int], ends: Mapping[int, int]) -> dict[int, int]:
    return {each: offset for each, offset in positions.items() if offset < ends.get(each, 0)}


def read_share(starts: Mapping[int, int], positions: Mapping[int, int], ends: Mapping[int, int]) -> float:
    """How much of the way from the starts to the ends is done, from 0 to 1."""
    whole = sum(max(0, ends[each] - start) for each, start in starts.items() if each in ends)
    done = sum(max(0, min(positions[each], ends[each]) - start) for each, start in starts.items() if each in ends and each in positions)
    return 1.0 if whole == 0 else min(1.0, done / whole)


def chosen_partitions(text: str, known: Iterable[int]) -> list[int]:
    """``0,2-4`` of the known partitions; all of them for an empty text."""
    partitions = set(known)
    if not text.strip():
        return sorted(partitions)
    chosen: set[int] = set()
    for part in text.replace(" ", "").split(","):
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if found is None:
            raise BadValue("Partitions are numbers and ranges, such as 0,2-4.", "partitions")
        first, last = int(found[1]), int(found[2] or found[1])
        chosen |= {each for each in partitions if first <= each <= last}
    if not chosen:
        raise BadValue(f"The topic has no partition {text}.", "partitions")
    return sorted(chosen)
