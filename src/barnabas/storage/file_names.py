"""Names of the files and directories under a log directory, as Kafka writes them."""

from __future__ import annotations

import re

from barnabas.model.ids import TopicPartition, Uuid

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

DELETE_DIRECTORY_SUFFIX = "-delete"
FUTURE_DIRECTORY_SUFFIX = "-future"
STRAY_DIRECTORY_SUFFIX = "-stray"
DIRECTORY_NAME_CHARACTERS_MAX = 255

_PARTITION = re.compile(r"^(\S+)-(\d+)$")
_MARKED = re.compile(r"^(\S+)\.[0-9a-f]{32}-(delete|future|stray)$")
_SEGMENT_FILE = re.compile(r"^(\d{20})(\.[a-z]+)((?:\.[a-z]+)*)$")


def offset_name(offset: int) -> str:
    return f"{offset:020d}"


def partition_directory_name(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


def parse_partition_directory(name: str) -> TopicPartition | None:
    """None for a directory that is not a partition's, or is marked as deleted, future or stray."""
    if _MARKED.match(name):
        return None
    found = _PARTITION.match(name)
    return TopicPartition(found[1], int(found[2])) if found else None


def marked_directory_name(partition: TopicPartition, unique: Uuid, suffix: str) -> str:
    """``topic-0.<32 hex>-delete``; a long topic name is shortened so that the whole fits into a
    file name.
    """
    tail = f"-{partition.partition}.{unique.hex()}{suffix}"
    return partition.topic[: DIRECTORY_NAME_CHARACTERS_MAX - len(tail)] + tail


def is_marked(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and _MARKED.match(name) is not None


def parse_future_directory(name: str) -> TopicPartition | None:
    """The partition whose future replica a directory holds; None for every other directory."""
    marked = _MARKED.match(name)
    found = _PARTITION.match(marked[1]) if marked is not None and is_marked(name, FUTURE_DIRECTORY_SUFFIX) else None
    return TopicPartition(found[1], int(found[2])) if found else None


def future_name_fits(partition: TopicPartition) -> bool:
    """A shortened name could not be recognised as this partition's."""
    room = DIRECTORY_NAME_CHARACTERS_MAX - len(FUTURE_DIRECTORY_SUFFIX) - 1 - 32
    return len(partition_directory_name(partition)) <= room


def parse_segment_file(name: str) -> tuple[int, str, str] | None:
    """Base offset, kind and a trailing mark such as ``.deleted`` (empty where there is none)."""
    found = _SEGMENT_FILE.match(name)
    return (int(found[1]), found[2], found[3]) if found else None
