"""Which partition of an internal topic, and so which broker, looks after an id."""

from __future__ import annotations

from functools import lru_cache

# Whoever commits once commits again; hashing looks at every letter of an id.
_IDS_KEPT = 4096
_INT32_MASK = 0xFFFF_FFFF
_INT32_MIN = -(2**31)
_SIGN_BIT = 1 << 31


def java_hash(text: str) -> int:
    """``String.hashCode``: over UTF-16 units, wrapped to 32 bits."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (31 * value + (encoded[position] << 8 | encoded[position + 1])) & _INT32_MASK
    return value - (value & _SIGN_BIT) * 2


@lru_cache(maxsize=_IDS_KEPT)
def partition_for(identity: str, partition_count: int) -> int:
    """As Kafka has it, which finds an id's records where they lie: the absolute value, and 0 for the smallest int, which has none."""
    value = java_hash(identity)
    return 0 if value == _INT32_MIN else abs(value) % partition_count
