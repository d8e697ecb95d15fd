"""A node that compacts: workers that start and end, settings that change, logs that cannot be
compacted, and topics that are deleted.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from barnabas.logcare import cleaning_workers
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.replication.partition import Partition
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.scenarios.client import Client, records_in
from tests.scenarios.running import RunningNode
from tests.waiting import until

TOPIC, BROKER = 2, 4
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
COMMIT_BY_NAME = 9
SEGMENT_MS = 60_000
COMPACTED = {"cleanup.policy": "compact", "segment.ms": str(SEGMENT_MS), "min.cleanable.dirty.ratio": "0.01"}
# A pass at this pace never ends by itself.
CRAWL = {"log.cleaner.io.max.bytes.per.second": "1000"}
RUN = {"log.cleaner.io.max.bytes.per.second": "1000000000"}
KEYS = 10


class Cleaning:
    """A node, and the questions that a test asks about its cleaner."""

    def __init__(self, running: RunningNode, client: Client, data: Path) -> None:
        self.running = running
        self.client = client
        self.data = data
        self._now_ms = int(time.time() * 1000) - 10 * SEGMENT_MS

    def fill(self, topic: str, *, records: int = 200, value: bytes = b"v", segments: int = 2) -> None:
        """Writes ``records`` records of ten keys to each of ``segments`` segments, and one to an
        active segment."""
        for _ in range(segments):
            self._now_ms += 2 * SEGMENT_MS
            for start in range(0, records, 50):
                self.write(topic, [b"key-%d" % (number % KEYS) for number in range(start, start + 50)], value)
        self._now_ms += 2 * SEGMENT_MS
        self.write(topic, [b"last"], value)

    def write(self, topic: str, keys: list[bytes], value: bytes | None = b"v") -> None:
        batch = build_batch([Record(offset, self._now_ms, key, value) for offset, key in enumerate(keys)])
        answer = self.client.produce_batch(topic, 0, batch)
        assert answer.error_code == 0, answer

    def records(self, topic: str) -> list[tuple[int, bytes | None]]:
        """Offsets and keys of all readable records."""
        found: list[tuple[int, bytes | None]] = []
        offset = self.client.end_offset(topic, timestamp=-2)
        while records := [each for each in records_in(self.client.fetch(topic, 0, offset).records) if each.offset >= offset]:
            found += [(each.offset, each.key) for each in records]
            offset = records[-1].offset + 1
        return found

    def replica(self, topic: str) -> Partition:
        found = self.running.node.broker.replicas.get(topic, 0)
        assert found is not None
        return found

    def is_clean(self, topic: str) -> bool:
        log = self.replica(topic).log
        return log.cleaned_to == log.segments.active.base_offset

    def await_clean(self, topic: str) -> None:
        until(lambda: self.is_clean(topic), f"{topic} is compacted")

    def metric(self, name: str) -> float:
        found = [value for metric, values in self.running.node.metrics.values() if metric.name == name for _, value in values]
        assert found, name
        return sum(found)

    def workers(self) -> list[int]:
        return [pid for pid, command in _children() if b"cleaning_process" in command]

    def await_worker(self) -> int:
        return until(lambda: next(iter(self.workers()), None), "a worker is there")


def _children() -> Iterator[tuple[int, bytes]]:
    """The child processes of this one, with their command lines. Threads and children may end
    during the search."""
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            for pid in (task / "children").read_text().split():
                yield int(pid), Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.fixture
def cleaning(tmp_path: Path) -> Iterator[Cleaning]:
    with RunningNode([tmp_path], config={"log.cleaner.backoff.ms": "20"}) as running, Client(running.bootstrap) as client:
        yield Cleaning(running, client, tmp_path)


def test_no_process_is_started_before_there_is_something_to_compact(cleaning: Cleaning) -> None:
    cleaning.client.create_topic("deleted", configs={"segment.ms": str(SEGMENT_MS)})
    cleaning.client.create_topic("compacted", configs=COMPACTED)
    cleaning.fill("deleted")
    cleaning.write("compacted", [b"key"] * 5)
    looked = cleaning.metric("barnabas_cleaner_passes_total")
    until(lambda: cleaning.metric("barnabas_cleaner_idle_seconds") < 1, "the cleaner looked")
    assert (cleaning.workers(), looked) == ([], 0)
    cleaning.fill("compacted")
    cleaning.await_clean("compacted")
    assert cleaning.workers()
    assert len(cleaning.records("compacted")) <= KEYS + 2
    assert cleaning.metric("barnabas_cleaner_bytes_reclaimed_total") > 0


def test_a_worker_that_is_killed_is_started_again_and_nothing_is_lost(cleaning: Cleaning) -> None:
    cleaning.client.create_topic("t", configs=COMPACTED)
    cleaning.client.alter_configs(BROKER, "", CRAWL)
    cleaning.fill("t", value=b"v" * 500)
    before = cleaning.records("t")
    for times in range(1, 4):
        os.kill(cleaning.await_worker(), signal.SIGKILL)
        until(lambda times=times: cleaning.metric("barnabas_cleaner_worker_deaths_total") == times, "its death is noticed")  # type: ignore[misc]
        assert cleaning.records("t") == before
    # A new rate takes effect at once, also for the pass that is running.
    cleaning.await_worker()
    cleaning.client.alter_configs(BROKER, "", RUN)
    cleaning.await_clean("t")
    latest = {key: offset for offset, key in before}
    assert cleaning.records("t") == sorted((offset, key) for key, offset in latest.items())
    assert not list((cleaning.data / "t-0").glob("*.cleaned"))
    assert cleaning.metric("barnabas_cleaner_uncleanable_partitions") == 0


def test_a_log_that_cannot_be_read_is_left_alone_and_others_are_compacted(cleaning: Cleaning, capfd: pytest.CaptureFixture[str]) -> None:
    for topic in ("damaged", "sound"):
        cleaning.client.create_topic(topic, configs=COMPACTED | {"min.cleanable.dirty.ratio": "1.0"})
        cleaning.fill(topic)
    damaged = min((cleaning.data / "damaged-0").glob("*.log"))
    content = bytearray(damaged.read_bytes())
    content[200] ^= 1
    damaged.write_bytes(content)
    for topic in ("damaged", "sound"):
        cleaning.client.alter_configs(TOPIC, topic, {"min.cleanable.dirty.ratio": "0.01"})
    cleaning.await_clean("sound")
    until(lambda: cleaning.metric("barnabas_cleaner_uncleanable_partitions") == 1, "it is counted")
    assert cleaning.metric("barnabas_cleaner_uncleanable_bytes") > len(content)
    passes = cleaning.metric("barnabas_cleaner_passes_total")
    cleaning.fill("sound")
    cleaning.await_clean("sound")
    assert cleaning.metric("barnabas_cleaner_passes_total") > passes
    assert damaged.read_bytes() == content
    assert capfd.readouterr().err.count("cannot be compacted") == 1


def test_deleting_a_topic_ends_its_cleaning_and_the_topic_can_be_created_again(cleaning: Cleaning) -> None:
    cleaning.client.create_topic("t", configs=COMPACTED)
    cleaning.client.alter_configs(BROKER, "", CRAWL)
    cleaning.fill("t", value=b"v" * 500)
    worker = cleaning.await_worker()
    cleaning.client.delete_topic("t")
    until(lambda: worker not in cleaning.workers(), "the worker is gone")
    cleaning.client.create_topic("t", configs=COMPACTED)
    cleaning.client.alter_configs(BROKER, "", RUN)
    cleaning.fill("t")
    cleaning.await_clean("t")
    assert cleaning.metric("barnabas_cleaner_worker_deaths_total") == 0
    assert [key for _, key in cleaning.records("t")] == [b"key-%d" % number for number in range(KEYS)] + [b"last"]


def test_as_many_logs_are_compacted_at_once_as_the_settings_say(cleaning: Cleaning) -> None:
    cleaning.client.alter_configs(BROKER, "", CRAWL)
    for topic in ("one", "two", "three"):
        cleaning.client.create_topic(topic, configs=COMPACTED)
        cleaning.fill(topic, value=b"v" * 500)
    until(lambda: len(cleaning.workers()) == 1, "one works")
    cleaning.client.alter_configs(BROKER, "", {"log.cleaner.threads": "2"})
    until(lambda: len(cleaning.workers()) == 2, "two work")
    assert cleaning.metric("barnabas_cleaner_logs") == 2
    cleaning.client.alter_configs(BROKER, "", RUN | {"log.cleaner.threads": "1"})
    for topic in ("one", "two", "three"):
        cleaning.await_clean(topic)


def test_an_idle_worker_ends_and_another_one_starts_when_there_is_work(cleaning: Cleaning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning_workers, "IDLE_SECONDS_MAX", 0.1)
    cleaning.client.create_topic("t", configs=COMPACTED)
    for _ in range(2):
        cleaning.fill("t")
        cleaning.await_clean("t")
        until(lambda: not cleaning.workers(), "the worker has ended")


def test_records_past_the_maximum_lag_are_compacted_without_further_writes(cleaning: Cleaning) -> None:
    cleaning.client.create_topic("t", configs=COMPACTED | {"min.cleanable.dirty.ratio": "1.0"})
    cleaning.write("t", [b"key"] * 5)
    cleaning.client.alter_configs(TOPIC, "t", {"max.compaction.lag.ms": "1"})
    until(lambda: [key for _, key in cleaning.records("t")] == [b"key"], "only the last is left")
    assert len(cleaning.replica("t").log.segments) == 2


def test_records_below_the_start_stay_deleted(cleaning: Cleaning) -> None:
    cleaning.client.create_topic("t", configs=COMPACTED | {"cleanup.policy": "compact,delete", "retention.ms": "-1"})
    cleaning.client.alter_configs(BROKER, "", CRAWL)
    cleaning.fill("t")
    partitions = [DeleteRecordsPartition(partition_index=0, offset=395)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=partitions)], timeout_ms=10_000)
    assert cleaning.client.ask(request).topics[0].partitions[0].low_watermark == 395
    cleaning.client.alter_configs(BROKER, "", RUN)
    cleaning.await_clean("t")
    assert [offset for offset, _ in cleaning.records("t")] == [395, 396, 397, 398, 399, 400]


def test_the_cleaner_remembers_its_progress_over_a_restart(tmp_path: Path) -> None:
    config = {"log.cleaner.backoff.ms": "20"}
    with RunningNode([tmp_path], config=config) as running, Client(running.bootstrap) as client:
        before = Cleaning(running, client, tmp_path)
        client.create_topic("t", configs=COMPACTED)
        before.fill("t")
        before.await_clean("t")
        left = before.records("t")
    with RunningNode([tmp_path], config=config) as running, Client(running.bootstrap) as client:
        after = Cleaning(running, client, tmp_path)
        assert after.is_clean("t")
        assert after.records("t") == left


def test_a_disabled_cleaner_does_nothing(tmp_path: Path) -> None:
    config = {"log.cleaner.backoff.ms": "20", "log.cleaner.enable": "false"}
    with RunningNode([tmp_path], config=config) as running, Client(running.bootstrap) as client:
        cleaning = Cleaning(running, client, tmp_path)
        client.create_topic("t", configs=COMPACTED)
        cleaning.fill("t")
        assert cleaning.metric("barnabas_cleaner_passes_total") == 0
        assert len(cleaning.records("t")) == 401


def test_committed_offsets_are_compacted_and_the_coordinator_continues(tmp_path: Path) -> None:
    config = {"log.cleaner.backoff.ms": "20", "offsets.topic.num.partitions": "1"}
    groups = ("a", "b", "c")
    with RunningNode([tmp_path], config=config) as running, Client(running.bootstrap) as client:
        cleaning = Cleaning(running, client, tmp_path)
        client.create_topic("t")
        await_coordinator(client)
        client.alter_configs(TOPIC, OFFSETS, {"min.cleanable.dirty.ratio": "0.01", "segment.ms": "20"})
        segments = cleaning.replica(OFFSETS).log.segments
        for offset in count():
            for group in groups:
                commit(client, group, offset)
            if segments.active.base_offset > 100:
                break
        cleaning.await_clean(OFFSETS)
        keys = [key for at, key in cleaning.records(OFFSETS) if at < segments.active.base_offset]
        assert len(keys) == len(set(keys)) == len(groups) + 1
        for group in groups:
            commit(client, group, 1000)
    with RunningNode([tmp_path], config=config) as running, Client(running.bootstrap) as client:
        await_coordinator(client)
        assert [committed(client, group) for group in groups] == [1000] * 3


def test_transactional_ids_are_compacted_and_their_epochs_continue(tmp_path: Path) -> None:
    config = {"log.cleaner.backoff.ms": "20", "transaction.state.log.num.partitions": "1"}
    ids = ("a", "b")
    with RunningNode([tmp_path], config=config) as running, Client(running.bootstrap) as client:
        cleaning = Cleaning(running, client, tmp_path)
        for name in ids:
            until(lambda name=name: init(client, name).error_code == 0, "the coordinator is there")  # type: ignore[misc]
        client.alter_configs(TOPIC, TRANSACTIONS, {"min.cleanable.dirty.ratio": "0.01", "segment.ms": "20"})
        segments = cleaning.replica(TRANSACTIONS).log.segments
        while segments.active.base_offset < 50:
            before = [init(client, name) for name in ids]
        cleaning.await_clean(TRANSACTIONS)
        keys = [key for at, key in cleaning.records(TRANSACTIONS) if at < segments.active.base_offset]
        assert sorted(keys, key=str) == sorted(set(keys), key=str)
    with RunningNode([tmp_path], config=config) as running, Client(running.bootstrap) as client:
        for name, last in zip(ids, before, strict=True):
            again = until(lambda name=name: _if_done(init(client, name)), "the coordinator has read its log")  # type: ignore[misc]
            assert (again.producer_id, again.producer_epoch) == (last.producer_id, last.producer_epoch + 1)


def init(client: Client, name: str) -> Any:
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1)
    client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]))
    return client.ask(request, 5)


def _if_done(answer: Any) -> Any:
    return answer if answer.error_code == 0 else None


def await_coordinator(client: Client) -> None:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["a"])
    until(lambda: client.ask(request).coordinators[0].error_code == 0, "a coordinator is named")
    until(lambda: _commit(client, "nobody", 0) == 0, "and has read its log")


def commit(client: Client, group: str, offset: int) -> None:
    assert _commit(client, group, offset) == 0


def _commit(client: Client, group: str, offset: int) -> int:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")]
    topics = [OffsetCommitRequestTopic(name="t", partitions=partitions)]
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    code: int = client.ask(request, COMMIT_BY_NAME).topics[0].partitions[0].error_code
    return code


def committed(client: Client, group: str) -> int:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=False)
    offset: int = client.ask(request, COMMIT_BY_NAME).groups[0].topics[0].partitions[0].committed_offset
    return offset
