"""The partition of an internal topic, and so the broker, that coordinates an id."""

from __future__ import annotations

from functools import lru_cache

# A group that commits once commits again, and hashing reads every character of the id.
_IDS_KEPT = 4096
_INT32_MASK = 0xFFFF_FFFF
_INT32_MIN = -(2**31)
_SIGN_BIT = 1 << 31


def java_hash(text: str) -> int:
    """``String.hashCode`` of Java: over UTF-16 units, wrapped to 32 bits."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (31 * value + (encoded[position] << 8 | encoded[position + 1])) & _INT32_MASK
    return value - (value & _SIGN_BIT) * 2


@lru_cache(maxsize=_IDS_KEPT)
def partition_for(identity: str, partition_count: int) -> int:
    """The same as Kafka's, so that records are found where Kafka wrote them: the absolute value of
    the hash, and 0 for the smallest int, which has no absolute value.
    """
    value = java_hash(identity)
    return 0 if value == _INT32_MIN else abs(value) % partition_count
