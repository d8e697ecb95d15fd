"""A log's segments in an S3 server on loopback: copied, read back, unreachable, reachable again,
and deleted.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from barnabas.env.real_disk import RealDisk
from barnabas.records.batches import walk
from barnabas.storage.log_settings import LogSettings
from barnabas.tiered.reading.index_cache import RemoteIndexCache
from barnabas.tiered.reading.reader import RemoteReader
from barnabas.tiered.store.object_names import ObjectKind
from barnabas.tiered.store.object_store import PART_BYTES
from barnabas.tiered.store.open_store import open_store
from barnabas.tiered.store.store import ObjectMissing, RemoteDataDamaged, RemoteStore, StoredObject, StoreRefused, StoreUnavailable
from tests.scenarios.client import Client
from tests.scenarios.tiered.tiered_broker import RECORDS_PER_SEGMENT, TIERED, fill, tiered_broker, value_of, wait_until_tiered
from tests.unit.storage.logs import append, data, open_reporting
from tests.unit.tiered.worlds import NAMES, Tiered, nothing, prepare
from tests.waiting import until

OPTIONS = {"region": "us-east-1", "access_key_id": "somebody", "secret_access_key": "something"}
MIB = 1024 * 1024


class S3:
    """A server that can stop and start again; it keeps its objects."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        self._server.start()
        self.port = self._server.get_host_and_port()[1]
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("PUT", "/bucket")
        assert connection.getresponse().status == 200
        connection.close()

    def go(self) -> None:
        self._server.stop()

    def come(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", port=self.port, verbose=False)
        self._server.start()

    def store(self, url: str = "s3://bucket/some/prefix") -> RemoteStore:
        return open_store(url, OPTIONS | {"endpoint": f"http://127.0.0.1:{self.port}"}, RealDisk())

    def into_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{self.port}")
        for name, value in OPTIONS.items():
            monkeypatch.setenv(f"AWS_{name.upper()}", value)


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    server = S3()
    yield server
    server.go()


def test_objects_are_put_read_listed_and_deleted(s3: S3) -> None:
    store = s3.store()
    large = [bytes([number]) * MIB for number in range(2 * PART_BYTES // MIB + 1)]
    store.put("c/t/0/small", b"hello world")
    store.put("c/t/0/large", iter(large))
    assert store.get("c/t/0/small", size_bytes_max=11) == b"hello world"
    assert store.get_range("c/t/0/small", 6, 3) == b"wor"
    assert store.get_range("c/t/0/small", 6, 300) == b"world"
    assert store.get_range("c/t/0/large", PART_BYTES - 1, 2) == large[PART_BYTES // MIB - 1][:1] + large[PART_BYTES // MIB][:1]
    assert list(store.list("c/t/")) == [StoredObject("c/t/0/large", len(large) * MIB), StoredObject("c/t/0/small", 11)]
    with pytest.raises(RemoteDataDamaged):
        store.get("c/t/0/small", size_bytes_max=5)
    with pytest.raises(RemoteDataDamaged):
        store.get_range("c/t/0/small", 12, 5)
    for _ in range(2):
        store.delete(["c/t/0/large", "c/t/0/small", "c/t/0/never"])
    assert list(store.list("c/")) == []
    with pytest.raises(ObjectMissing):
        store.get("c/t/0/small", size_bytes_max=11)


def test_environment_variables_of_other_tools_configure_the_store(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.into_environment(monkeypatch)
    store = open_store("s3://bucket/elsewhere", {}, RealDisk())
    store.put("a/b", b"x")
    assert store.get("a/b", size_bytes_max=1) == b"x"


def test_a_source_that_fails_leaves_nothing(s3: S3) -> None:
    store = s3.store()

    def pieces() -> Iterator[bytes]:
        yield bytes(PART_BYTES)
        yield bytes(PART_BYTES)
        raise OSError(5, "the local disk")

    with pytest.raises(OSError, match="the local disk"):
        store.put("d/half", pieces())
    assert list(store.list("d/")) == []


def test_a_missing_bucket_is_refused_and_nothing_in_it_counts_as_deleted(s3: S3) -> None:
    store = s3.store("s3://elsewhere/prefix")
    with pytest.raises(StoreRefused, match="does not exist"):
        store.put("a/b", b"x")
    with pytest.raises(StoreUnavailable):
        store.delete(["a/b"])


def test_a_log_is_read_back_after_an_outage_of_the_store(s3: S3, tmp_path: Path) -> None:
    disk, store = RealDisk(), s3.store()
    directory = tmp_path / "topic-0"
    directory.mkdir()
    log, _ = open_reporting(disk, LogSettings(segment_bytes=256 * 1024), directory=str(directory))
    for number in range(80):
        append(log, data(count=10, value=bytes([number]) * 1000))
    tiered = Tiered(disk, log, store, directory=str(directory))
    assert len(tiered.segments) > 2
    assert len(list(store.list(NAMES.partition_prefix(tiered.segments[0].id.partition)))) == 5 * len(tiered.segments)

    indexes = RemoteIndexCache(disk, str(tmp_path), store, NAMES, size_bytes_max=MIB)
    reader = RemoteReader(store, NAMES, indexes)
    chain, found, offset = tiered.chain, b"", 0
    middle = tiered.segments[len(tiered.segments) // 2].start_offset + 15
    while offset <= tiered.copied:
        read = reader.read(chain, offset, size_bytes_max=100_000)
        found, offset = found + read.records, read.next_offset
    assert found == b"".join(disk.read(f"{directory}/{each.start_offset:020d}.log") for each in tiered.segments)
    assert sum(header.record_count for _, header in walk(found)) == tiered.copied + 1
    reader.close()

    s3.go()
    fresh = RemoteReader(store, NAMES, indexes)
    with pytest.raises(StoreUnavailable):
        fresh.read(chain, middle, size_bytes_max=1000)
    copy = prepare(disk, log, number=99, directory=str(directory))
    assert copy is not None
    with pytest.raises(StoreUnavailable):
        copy.run(store, NAMES, nothing)
    s3.come()
    read = fresh.read(chain, middle, size_bytes_max=1000)
    assert read.first_offset <= middle < read.next_offset
    copy.run(store, NAMES, nothing)
    copy.release()
    fresh.close()

    for each in (*tiered.segments, copy.metadata):
        store.delete(NAMES.all_of(each))
    assert list(store.list(NAMES.partition_prefix(copy.metadata.id.partition))) == []
    with pytest.raises(ObjectMissing):
        store.get_range(NAMES.name(tiered.segments[0], ObjectKind.LOG), 0, 1)
    log.abandon()


def test_a_broker_keeps_a_topic_in_the_store(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.into_environment(monkeypatch)
    store = s3.store("s3://bucket/broker")
    with tiered_broker(tmp_path, remote_log_storage_url="s3://bucket/broker") as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("t", 1, TIERED)
        end = fill(client, "t", 4)
        wait_until_tiered(client, "t", 2 * RECORDS_PER_SEGMENT)
        assert client.values("t") == [value_of(number) for number in range(end)]
        client.delete_topic("t")
        until(lambda: not list(store.list("")), "the bucket is empty")
