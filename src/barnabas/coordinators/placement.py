"""Which partition of an internal topic, and so which broker, looks after an id."""

from __future__ import annotations

_INT32_MASK = 0xFFFF_FFFF
_SIGN_MASK = 0x7FFF_FFFF


def java_hash(text: str) -> int:
    """``String.hashCode``: over UTF-16 units, wrapped to 32 bits, as an unsigned number."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (31 * value + (encoded[position] << 8 | encoded[position + 1])) & _INT32_MASK
    return value


def partition_for(identity: str, partition_count: int) -> int:
    """The sign bit is masked away, not negated: the smallest int has no absolute value."""
    return (java_hash(identity) & _SIGN_MASK) % partition_count
