"""The sizes, partitions and codecs that throughput is measured with."""

from __future__ import annotations

from dataclasses import dataclass

SMALL_VALUE_BYTES = 100
LARGE_VALUE_BYTES = 1000


@dataclass(frozen=True, slots=True)
class Variant:
    value_bytes: int
    partitions: int
    codec: str = "none"

    def records(self, megabytes: float) -> int:
        return int(megabytes * 1e6) // self.value_bytes

    def __str__(self) -> str:
        size = "1 KB" if self.value_bytes == LARGE_VALUE_BYTES else f"{self.value_bytes} B"
        partitions = "1 partition" if self.partitions == 1 else f"{self.partitions} partitions"
        return f"{size}, {partitions}" + ("" if self.codec == "none" else f", {self.codec}")


VARIANTS = tuple(
    Variant(value_bytes, partitions, codec)
    for value_bytes in (SMALL_VALUE_BYTES, LARGE_VALUE_BYTES)
    for partitions in (1, 6)
    for codec in ("none", "lz4")
)
# A JVM client takes seconds to start and get warm, so it is only measured at the two ends.
JAVA_VARIANTS = (Variant(SMALL_VALUE_BYTES, 6), Variant(LARGE_VALUE_BYTES, 1))
