"""A group's offset on both sides, in the format of MirrorMaker's checkpoint records, which its
tools and Kafka's clients read.

Key: group, topic (its name on the target), partition. Value: a version (0), the source's offset,
the target's, metadata. Texts are preceded by their length in two bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_VERSION = 0
_PARTITION = struct.Struct(">i")
_VALUE = struct.Struct(">hqq")


@dataclass(frozen=True, slots=True)
class GroupCheckpoint:
    group: str
    topic: str
    partition: int
    source_offset: int
    target_offset: int

    @property
    def key(self) -> bytes:
        return _text(self.group) + _text(self.topic) + _PARTITION.pack(self.partition)

    @property
    def value(self) -> bytes:
        return _VALUE.pack(_VERSION, self.source_offset, self.target_offset) + _text("")


def checkpoints_topic(source_alias: str) -> str:
    return f"{source_alias}.checkpoints.internal"


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded
