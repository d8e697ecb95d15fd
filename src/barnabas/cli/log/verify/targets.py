"""Finds directories with logs by their contents: a log directory may be called ``node-1``, like a
partition.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from barnabas.cli.errors import Refused
from barnabas.env.disk import Disk, disk_sentence
from barnabas.model.ids import TopicPartition
from barnabas.storage.checkpoints import RECOVERY_POINTS
from barnabas.storage.file_names import (
    LOG_SUFFIX,
    PARTITION_METADATA,
    parse_future_directory,
    parse_partition_directory,
    parse_segment_file,
)
from barnabas.storage.meta_properties import META_PROPERTIES

# A data directory holds the log directories of nodes; there is no deeper level.
_DEPTH_MAX = 2


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    path: str
    partition: TopicPartition | None  # None where the name does not tell


@dataclass(frozen=True, slots=True)
class LogDirectoryFound:
    path: str

    def partitions(self, disk: Disk) -> Iterator[PartitionDirectory]:
        """The partitions in use: no deleted and no stray ones."""
        for name in disk.names(self.path):
            partition = parse_partition_directory(name)
            if partition is not None and disk.is_directory(f"{self.path}/{name}"):
                yield PartitionDirectory(f"{self.path}/{name}", partition)


def find_logs(disk: Disk, path: str) -> list[PartitionDirectory | LogDirectoryFound]:
    """Raises ``Refused`` when there are none."""
    if not os.path.exists(path):
        raise Refused(f"{path}: no such directory.")
    if not os.path.isdir(path):
        raise Refused(f"{path} is a file; `barnabas log dump --deep` checks a file.")
    try:
        found = list(_find(disk, path.rstrip("/") or "/", 0))
    except OSError as error:
        raise Refused(disk_sentence(f"cannot read {path}", error)) from error
    if not found:
        raise Refused(f"{path} is neither a partition's directory nor a log directory.")
    return found


def _find(disk: Disk, path: str, depth: int) -> Iterator[PartitionDirectory | LogDirectoryFound]:
    names = disk.names(path)
    if META_PROPERTIES in names or RECOVERY_POINTS in names:
        yield LogDirectoryFound(path)
        return
    if _holds_segments(names):
        own_name = os.path.basename(os.path.abspath(path))
        yield PartitionDirectory(path, parse_partition_directory(own_name) or parse_future_directory(own_name))
        return
    children = [f"{path}/{name}" for name in names if os.path.isdir(f"{path}/{name}")]
    if any(parse_partition_directory(os.path.basename(each)) and _holds_segments(disk.names(each)) for each in children):
        yield LogDirectoryFound(path)
    elif depth < _DEPTH_MAX:
        for each in children:
            yield from _find(disk, each, depth + 1)


def _holds_segments(names: list[str]) -> bool:
    return PARTITION_METADATA in names or any((parsed := parse_segment_file(name)) and parsed[1:] == (LOG_SUFFIX, "") for name in names)
