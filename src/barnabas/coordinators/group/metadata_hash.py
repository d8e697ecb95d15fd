"""A hash over the topics of a group, which changes when the group needs a new assignment.

It is Kafka's: XXH3 over each topic, and XXH3 over these hashes in the order of the names. So a
group keeps its assignment when its coordinator moves between Kafka and Barnabas.

    topic      0x00, the two halves of the id, the name, the number of partitions, then for each
               partition its number and the racks of its replicas, sorted
    name, rack UTF-16 units, then their number; a rack has its number of units in front as well

All numbers are little-endian. Kafka's code for it is hash4j's stream of values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from xxhash import xxh3_64_intdigest

from barnabas.metadata.topics import TopicImage, TopicsImage
from barnabas.model.ids import Uuid

_MAGIC = b"\x00"
_ID: Final = struct.Struct(">QQ")
_HALVES: Final = struct.Struct("<QQ")
_INT: Final = struct.Struct("<i")
_HASH: Final = struct.Struct("<Q")
_SIGN: Final = 1 << 63
# Each takes about 300 bytes; one more costs a hash over the numbers of its partitions.
_TOPICS_REMEMBERED_MAX: Final = 1024

Racks = Mapping[int, str]
"""The rack of each broker that has one."""
NO_RACKS: Final[Racks] = MappingProxyType({})


def metadata_hash(names: Iterable[str], topics: TopicsImage, racks: Racks = NO_RACKS) -> int:
    """Changes if a topic is created, deleted, recreated or gets more partitions, and if replicas
    move to other ``racks``; 0 without topics. Groups whose assignors use no racks leave them out.
    """
    present = sorted(name for name in names if name in topics.by_name)
    if not present:
        return 0
    digest = xxh3_64_intdigest(b"".join(_HASH.pack(_topic_hash(topics.by_name[name], racks)) for name in present))
    return digest - 2 * (digest & _SIGN)


def _topic_hash(topic: TopicImage, racks: Racks) -> int:
    if not racks:
        return _hash_without_racks(topic.topic_id, topic.name, len(topic.partitions))
    parts = [_MAGIC, _HALVES.pack(*_ID.unpack(topic.topic_id)), _text(topic.name), _INT.pack(len(topic.partitions))]
    for number, partition in sorted(topic.partitions.items()):
        parts.append(_INT.pack(number))
        for rack in sorted(racks[broker] for broker in partition.replicas if broker in racks):
            text = _text(rack)
            parts += [text[-_INT.size :], text]
    return xxh3_64_intdigest(b"".join(parts))


@lru_cache(maxsize=_TOPICS_REMEMBERED_MAX)
def _hash_without_racks(topic_id: Uuid, name: str, partitions: int) -> int:
    """Every change of a group asks for it, and a topic seldom changes."""
    head = _MAGIC + _HALVES.pack(*_ID.unpack(topic_id)) + _text(name) + _INT.pack(partitions)
    return xxh3_64_intdigest(head + struct.pack(f"<{partitions}i", *range(partitions)))


def _text(text: str) -> bytes:
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _INT.pack(len(units) // 2)
