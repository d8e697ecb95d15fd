"""Checkpoint files: version, count, then a line per partition. Each is written whole to a side file
that is then renamed.

Every log directory has four of them; ``leader-epoch-checkpoint`` in a partition's directory has the
same frame with other lines.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.env.disk import Disk, write_atomically
from barnabas.model.ids import TopicPartition

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
_VERSION = "0"


class CheckpointDamaged(ValueError):
    """A malformed checkpoint. Its reader decides how to continue without it."""


def read_lines(disk: Disk, path: str) -> list[str]:
    """The lines behind version and count; none in an empty file, which Kafka creates before it has
    lines to write.

    Raises ``FileNotFoundError`` or ``CheckpointDamaged``.
    """
    lines = disk.read(path).decode("utf-8", "replace").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    if not lines:
        return []
    if len(lines) < 2 or lines[0].strip() != _VERSION or not lines[1].strip().isdecimal():
        raise CheckpointDamaged(f"{path} does not begin with a version and a count")
    if len(lines) - 2 != int(lines[1]):
        raise CheckpointDamaged(f"{path} announces {lines[1]} lines and has {len(lines) - 2}")
    return lines[2:]


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Empty when there is no such file yet."""
    try:
        lines = read_lines(disk, path)
    except FileNotFoundError:
        return {}
    offsets = {}
    for line in lines:
        match line.split():
            case [topic, partition, offset] if partition.isdecimal() and offset.removeprefix("-").isdecimal():
                offsets[TopicPartition(topic, int(partition))] = int(offset)
            case _:
                raise CheckpointDamaged(f"{path} has a line {line!r} that is not topic, partition and offset")
    return offsets


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    text = f"{_VERSION}\n{len(offsets)}\n" + "".join(
        f"{partition.topic} {partition.partition} {offset}\n" for partition, offset in offsets.items()
    )
    write_atomically(disk, path, text.encode())
