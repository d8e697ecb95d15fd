"""The broker's settings of compaction, as the cleaner needs them; the settings of topics come with
their logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    enabled: bool
    workers: int
    backoff_ms: int
    bytes_per_second: float
    map_bytes: int
    map_load_factor: float

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> CleanerSettings:
        """``values`` are the effective settings of the broker, parsed, under Kafka's names."""
        return cls(
            enabled=values["log.cleaner.enable"],
            workers=values["log.cleaner.threads"],
            backoff_ms=values["log.cleaner.backoff.ms"],
            bytes_per_second=values["log.cleaner.io.max.bytes.per.second"],
            map_bytes=values["log.cleaner.dedupe.buffer.size"],
            map_load_factor=values["log.cleaner.io.buffer.load.factor"],
        )

    # Each worker gets an equal part of the resources that all workers share.

    @property
    def bytes_per_second_each(self) -> float:
        return self.bytes_per_second / max(self.workers, 1)

    @property
    def map_bytes_each(self) -> int:
        return int(self.map_bytes / max(self.workers, 1) * self.map_load_factor)
