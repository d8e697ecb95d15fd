"""Names of files and directories are Kafka's."""

from __future__ import annotations

import pytest

from barnabas.model.ids import TopicPartition, Uuid
from barnabas.storage.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    is_marked,
    marked_directory_name,
    offset_name,
    parse_partition_directory,
    parse_segment_file,
    partition_directory_name,
)

UNIQUE = Uuid(bytes(range(16)))


@pytest.mark.parametrize(("offset", "name"), [(0, "0" * 20), (1234, "00000000000000001234"), (2**63 - 1, "09223372036854775807")])
def test_a_segments_files_are_named_by_twenty_digits(offset: int, name: str) -> None:
    assert offset_name(offset) == name
    assert parse_segment_file(f"{name}.log") == (offset, ".log", "")


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("00000000000000000007.index", (7, ".index", "")),
        ("00000000000000000007.timeindex", (7, ".timeindex", "")),
        ("00000000000000000007.txnindex", (7, ".txnindex", "")),
        ("00000000000000000007.snapshot", (7, ".snapshot", "")),
        ("00000000000000000007.log.deleted", (7, ".log", ".deleted")),
        ("00000000000000000007.log.cleaned", (7, ".log", ".cleaned")),
        ("00000000000000000007.timeindex.swap", (7, ".timeindex", ".swap")),
        ("00000000000000000007.index.cleaned.deleted", (7, ".index", ".cleaned.deleted")),
        ("7.log", None),
        ("leader-epoch-checkpoint", None),
        ("partition.metadata", None),
        ("00000000000000000007", None),
        ("00000000000000000007-0000000003.checkpoint", None),
    ],
)
def test_a_segment_file_name_parses_into_base_offset_kind_and_mark(name: str, parsed: object) -> None:
    assert parse_segment_file(name) == parsed


@pytest.mark.parametrize("topic", ["orders", "a-b-3", "under_score.dot", "-", "__consumer_offsets"])
def test_a_partition_directory_name_parses_back(topic: str) -> None:
    partition = TopicPartition(topic, 12)
    assert parse_partition_directory(partition_directory_name(partition)) == partition


@pytest.mark.parametrize("name", ["orders", "orders-", "-3", "orders-x", "remote-log-index-cache", "or ders-1", ".lock"])
def test_other_directories_are_not_partitions(name: str) -> None:
    assert parse_partition_directory(name) is None


@pytest.mark.parametrize("suffix", [DELETE_DIRECTORY_SUFFIX, FUTURE_DIRECTORY_SUFFIX, STRAY_DIRECTORY_SUFFIX])
def test_a_marked_directory_does_not_parse_as_a_partition(suffix: str) -> None:
    name = marked_directory_name(TopicPartition("orders", 3), UNIQUE, suffix)
    assert name == f"orders-3.000102030405060708090a0b0c0d0e0f{suffix}"
    assert parse_partition_directory(name) is None
    assert is_marked(name, suffix)
    assert not is_marked(f"orders-3{suffix}", suffix)
    assert not is_marked(name, "-other")


def test_a_long_name_is_shortened_in_the_topic_and_never_in_the_partition() -> None:
    name = marked_directory_name(TopicPartition("t" * 249, 123), UNIQUE, DELETE_DIRECTORY_SUFFIX)
    assert len(name) == 255
    assert name.endswith(f"t-123.{UNIQUE.hex()}-delete")
    assert is_marked(name, DELETE_DIRECTORY_SUFFIX)
