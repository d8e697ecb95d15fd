"""The tagged section that ends every struct of a flexible message: a count, then tag, size and
bytes of each.

Unknown fields are skipped, never kept: a request that must survive a hop is forwarded as the bytes
it arrived in.
"""

from __future__ import annotations

from barnabas.model.buffers import Buffer
from barnabas.wire.varint import read_uvarint


class MalformedMessage(ValueError):
    """Bytes that are not the message they claim to be. The error is the peer's, never ours."""


# Tagged fields of one struct. Kafka's messages have at most a dozen. Unknown ones cost as much as
# elements of an array and have no effect, so without a limit a peer could send millions.
TAGS_MAX = 100


def read_tag_count(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """A tagged field takes at least two bytes, which bounds the count before any loop over it."""
    count, position = read_uvarint(buffer, position)
    if count > TAGS_MAX:
        raise MalformedMessage(f"{count} tagged fields in one struct, which may have {TAGS_MAX}")
    if count * 2 > end - position:
        raise MalformedMessage(f"{count} tagged fields where {end - position} bytes remain")
    return count, position


def read_tag(buffer: Buffer, position: int, end: int) -> tuple[int, int, int]:
    """A tag, and the positions where its value begins and ends."""
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
