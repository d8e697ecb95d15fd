"""The journals of share consumers: lines that a killed member leaves behind.

    NANOSECONDS MEMBER got PARTITION OFFSET DELIVERY_COUNT
    NANOSECONDS MEMBER try PARTITION OFFSET ACCEPT|RELEASE|REJECT|RENEW
    NANOSECONDS MEMBER yes PARTITION OFFSET
    NANOSECONDS MEMBER no PARTITION OFFSET ERROR

``got`` is written before the member decides, ``try`` before the acknowledgement can leave, ``yes``
and ``no`` when the broker's answer has arrived. The clock is the monotonic one of the machine,
which Python and Java share. A line without its end is dropped: its writer was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

GOT, TRY, YES, NO = "got", "try", "yes", "no"
ACCEPT, RELEASE, REJECT, RENEW = "ACCEPT", "RELEASE", "REJECT", "RENEW"
# After one of these no member may get the record again.
FINAL = frozenset({ACCEPT, REJECT})


class Where(NamedTuple):
    partition: int
    offset: int


class Line(NamedTuple):
    at_ns: int
    member: str
    verb: str
    where: Where
    detail: str


def parse(text: str) -> Iterator[Line]:
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            at_ns, member, verb, partition, offset, *detail = line.split()
            yield Line(int(at_ns), member, verb, Where(int(partition), int(offset)), " ".join(detail))


def read(journals: Iterable[Path]) -> list[Line]:
    """All lines in the order of time; those of one moment in the order of their journal."""
    lines = [line for journal in journals for line in parse(journal.read_text())]
    return sorted(lines, key=lambda line: line.at_ns)
