"""The tagged section that ends every struct of a flexible message: a count, then tag, size and bytes of each.

Fields nobody here knows are skipped, never kept: a request that must survive a hop is forwarded as the bytes it arrived in.
"""

from __future__ import annotations

from barnabas.model.buffers import Buffer
from barnabas.wire.varint import read_uvarint


class MalformedMessage(ValueError):
    """Bytes that are not the message they claim to be. The peer is wrong; nothing of ours is."""


def read_tag_count(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """A tagged field takes two bytes at least, which bounds the count before anybody loops over it."""
    count, position = read_uvarint(buffer, position)
    if count * 2 > end - position:
        raise MalformedMessage(f"{count} tagged fields where {end - position} bytes remain")
    return count, position


def read_tag(buffer: Buffer, position: int, end: int) -> tuple[int, int, int]:
    """A tag, where its value begins and where it ends."""
    tag, position = read_uvarint(buffer, position)
    size, position = read_uvarint(buffer, position)
    if size > end - position:
        raise MalformedMessage(f"tagged field {tag} announces {size} where {end - position} bytes remain")
    return tag, position, position + size


def skip_tagged_fields(buffer: Buffer, position: int, end: int) -> int:
    count, position = read_tag_count(buffer, position, end)
    for _ in range(count):
        _, _, position = read_tag(buffer, position, end)
    return position
