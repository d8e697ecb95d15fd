"""The order in which Kafka visits the subtopologies of a topology.

Kafka keeps them in a Java hash map. Where a loop of the topology leaves a choice, that order
decides the partition counts of repartition topics. Topics that Kafka has created must keep their
counts when Barnabas takes over its directory, so the order must be the same.
"""

from __future__ import annotations

from collections.abc import Iterable

_TABLE_SIZE_MIN = 16
_INT_MASK = 0xFFFF_FFFF


def in_visit_order(ids: Iterable[str]) -> list[str]:
    """``ids`` come in the order of insertion, which decides between ids of one bucket."""
    listed = list(ids)
    size = _TABLE_SIZE_MIN
    while len(listed) > size * 3 // 4:
        size *= 2
    return sorted(listed, key=lambda each: _bucket(each, size))


def _bucket(text: str, size: int) -> int:
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    code = 0
    for unit in units:
        code = (31 * code + unit) & _INT_MASK
    return (code ^ (code >> 16)) & (size - 1)
