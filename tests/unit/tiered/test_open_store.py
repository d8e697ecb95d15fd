"""From a URL to a remote store."""

from __future__ import annotations

import sys

import pytest

from barnabas.config.keys import ConfigError
from barnabas.tiered.metadata.segment_metadata import RemotePartition
from barnabas.tiered.store.directory_store import DirectoryStore
from barnabas.tiered.store.object_names import ObjectKind
from barnabas.tiered.store.object_store import ObjectStore
from barnabas.tiered.store.open_store import open_store
from tests.unit.tiered.made import PARTITION, segment
from tests.unit.tiered.worlds import NAMES, disk_with_store


def test_a_file_url_is_a_directory() -> None:
    disk, _ = disk_with_store()
    store = open_store("file:///remote", {}, disk)
    assert isinstance(store, DirectoryStore)
    store.put("a/b", b"x")
    assert disk.read("/remote/a/b") == b"x"


@pytest.mark.parametrize("url", ["s3://bucket/prefix", "gs://bucket", "s3a://bucket/a/b"])
def test_other_urls_are_object_stores(url: str) -> None:
    assert isinstance(open_store(url, {}, disk_with_store()[0]), ObjectStore)


@pytest.mark.parametrize("url", ["", "bucket", "/path", "file://", "file:///", "file://host/path", "ftp://x/y", "s3://", "http://x/y"])
def test_a_url_that_names_no_store_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(ConfigError, match=r"remote\.log\.storage\.url is"):
        open_store(url, {}, disk_with_store()[0])


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="nonsense"):
        open_store("s3://bucket", {"nonsense": "1"}, disk_with_store()[0])
    with pytest.raises(ConfigError, match="does not apply"):
        open_store("file:///remote", {"region": "x"}, disk_with_store()[0])


def test_a_missing_package_is_reported_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ConfigError, match=r"pip install 'barnabas\[tiered\]'"):
        open_store("s3://bucket", {}, disk_with_store()[0])


def test_names_sort_by_offset_and_keep_topics_apart() -> None:
    names = [NAMES.name(each, ObjectKind.LOG) for each in (segment(1, 5, 9), segment(2, 10, 19), segment(3, 1000, 1001))]
    assert names == sorted(names)
    assert all(name.startswith(NAMES.partition_prefix(PARTITION)) for name in NAMES.all_of(segment(1, 5, 9)))
    assert NAMES.all_of(segment(1, 5, 9))[-1].endswith(".log")
    longer = RemotePartition(PARTITION.topic_id, "topic-a", 0)
    assert not NAMES.topic_prefix(longer).startswith(NAMES.topic_prefix(PARTITION))
