"""The order in which a Java ``HashSet`` lists strings, and the hashes behind it.

Kafka sends the requested metrics in that order and computes the id of a subscription from it. In
the same order, the brokers of a cluster with both programs give a client one id, and the client
needs not ask again when it changes from one broker to another.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.model.ids import Uuid

_CAPACITY_MIN = 16
_MASK = 0xFFFF_FFFF


def string_hash(text: str) -> int:
    """``String.hashCode`` over UTF-16 units, as an unsigned number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & _MASK
    return value


def uuid_hash(value: Uuid) -> int:
    """``Uuid.hashCode`` of Kafka, as an unsigned number."""
    mixed = int.from_bytes(value[:8]) ^ int.from_bytes(value[8:])
    return (mixed >> 32 ^ mixed) & _MASK


def hash_order(texts: Iterable[str]) -> tuple[str, ...]:
    """The distinct texts, bucket by bucket, and within a bucket in the order of insertion."""
    distinct = list(dict.fromkeys(texts))
    capacity = _CAPACITY_MIN
    while 4 * len(distinct) > 3 * capacity:
        capacity *= 2

    def bucket(text: str) -> int:
        code = string_hash(text)
        return (code ^ code >> 16) & (capacity - 1)

    return tuple(sorted(distinct, key=bucket))
