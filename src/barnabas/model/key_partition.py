"""The partition of a key, as Java's producer and librdkafka's ``murmur2`` choose it.

The console finds the records of a key with it, and tests find records where an application's own
producer would have put them.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFF_FFFF
_MULTIPLIER: Final = 0x5BD1_E995
_SEED: Final = 0x9747_B28C


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFF_FFFF) % partitions


def murmur2(data: bytes) -> int:
    hashed = _SEED ^ len(data)
    whole = len(data) & ~3
    for position in range(0, whole, 4):
        mixed = (int.from_bytes(data[position : position + 4], "little") * _MULTIPLIER) & _MASK
        mixed = ((mixed ^ (mixed >> 24)) * _MULTIPLIER) & _MASK
        hashed = ((hashed * _MULTIPLIER) & _MASK) ^ mixed
    if rest := data[whole:]:
        hashed = ((hashed ^ int.from_bytes(rest, "little")) * _MULTIPLIER) & _MASK
    hashed = ((hashed ^ (hashed >> 13)) * _MULTIPLIER) & _MASK
    return hashed ^ (hashed >> 15)
