"""Logs that a node finds in its directories when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.model.ids import TopicPartition
from barnabas.storage.log_directory import FoundLog, LogDirectory

FoundIn = tuple[LogDirectory, FoundLog]


@dataclass(slots=True)
class FoundLogs:
    """All logs in the directories of a node, before the metadata says which of them are replicas.

    Of a partition that was being moved there may be a copy, or, when the node died while the two
    were exchanged, the replica twice."""

    replicas: dict[TopicPartition, list[FoundIn]] = field(default_factory=dict)
    copies: dict[TopicPartition, list[FoundIn]] = field(default_factory=dict)

    def add(self, directory: LogDirectory, found: FoundLog) -> None:
        kind = self.copies if found.future else self.replicas
        kind.setdefault(found.log.partition, []).append((directory, found))
