"""Logs that a node finds in its directories when it starts."""

from __future__ import annotations

from dataclasses import field

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import TopicPartition
from barnabas.storage.log_directory import FoundLog, LogDirectory

FoundIn = tuple[LogDirectory, FoundLog]


@dataclass(slots=True)
class FoundLogs:
    """The logs in all directories, before the metadata claims them.

    A partition that was being moved may have a copy, or two replicas if the node died while the
    copy replaced the replica.
    """

    replicas: dict[TopicPartition, list[FoundIn]] = field(default_factory=dict)
    copies: dict[TopicPartition, list[FoundIn]] = field(default_factory=dict)

    def add(self, directory: LogDirectory, found: FoundLog) -> None:
        kind = self.copies if found.future else self.replicas
        kind.setdefault(found.log.partition, []).append((directory, found))
