"""An assignment: the brokers of each partition's replicas. The first is the preferred leader."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class PartitionName(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


Assignment: TypeAlias = dict[PartitionName, list[int]]
