"""One writer, one batch, one transaction: every point at which it can fail, and the next attempt.

No Spark here, and any Kafka: the tests hold for Barnabas and for Apache Kafka.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from threading import Event
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from barnabas.pipelines import transactional_producer
from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.exactly_once import writing
from barnabas.pipelines.exactly_once.markers import MARKER_TOPIC, Marker, Markers, ensure_marker_topic
from barnabas.pipelines.exactly_once.writing import Part, Written, write_part
from peers.apache_kafka import apache_kafka, why_missing
from tests.pipelines.topics import Topics
from tests.waiting import PATIENCE_SECONDS


class Interrupted(Exception):
    """As if the task had been killed here."""


def rows(topic: str, *values: str, **columns: Any) -> pa.RecordBatch:
    data = {"topic": [topic] * len(values), "key": [b"k"] * len(values), "value": [each.encode() for each in values], **columns}
    return pa.RecordBatch.from_pydict(data)


class Writer:
    """Writer 3 of a query, and its output."""

    def __init__(self, topics: Topics, group: str) -> None:
        self.topics = topics
        self.group = group
        self.topic = topics.create("out")
        self.client = {"bootstrap.servers": topics.bootstrap}
        ensure_marker_topic(self.client, 4)

    def part(self, batch: int, fingerprint: str = "same") -> Part:
        return Part(self.group, 3, batch, fingerprint)

    def write(self, batch: int, *values: str, chunks: Iterator[pa.RecordBatch] | None = None, fingerprint: str = "same") -> Written:
        chunks = iter([rows(self.topic, *values)]) if chunks is None else chunks
        return write_part(self.part(batch, fingerprint), chunks, client=self.client, producer={})

    def read(self) -> list[str]:
        return [(each.value or b"").decode() for each in self.topics.read(self.topic)]

    def marker(self) -> Marker | None:
        markers = Markers(self.client, self.group)
        try:
            return markers.read(3)
        finally:
            markers.close()


@pytest.fixture(
    scope="module",
    params=[
        "barnabas",
        pytest.param(
            "apache", marks=[pytest.mark.soak, pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]
        ),
    ],
)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "barnabas":
        yield request.getfixturevalue("broker").bootstrap
        return
    with apache_kafka() as (address, _):
        yield address


@pytest.fixture
def topics(bootstrap: str, request: pytest.FixtureRequest) -> Iterator[Topics]:
    with Topics(bootstrap, request.node.name) as made:
        yield made


@pytest.fixture
def writer(topics: Topics, request: pytest.FixtureRequest) -> Iterator[Writer]:
    yield Writer(topics, f"barnabas.pipelines.test.{request.node.name}")
    # Without closing the producers: some have a transaction open, and closing would wait for its
    # end.
    forget_producers()
    writing.close_kept()


def forget_producers() -> None:
    """The state that a new process would not have."""
    writing._producers.clear()


class Failing:
    """A producer that fails before or after one of its calls."""

    def __init__(self, producer: Any, deed: str, *, after: bool) -> None:
        self._producer, self._deed, self._after = producer, deed, after

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._producer, name)
        if name != self._deed:
            return real

        def fails(*arguments: Any) -> None:
            if self._after:
                real(*arguments)
            raise Interrupted

        return fails


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Any:
    def arrange(deed: str, *, after: bool) -> None:
        monkeypatch.setattr(transactional_producer, "Producer", lambda settings: Failing(Producer(settings), deed, after=after))

    def repair() -> None:
        monkeypatch.setattr(transactional_producer, "Producer", Producer)
        forget_producers()

    arrange.repair = repair  # type: ignore[attr-defined]
    return arrange


# -- a batch, and the same batch again -------------------------------------------------------


def test_rows_and_marker_are_written_together(writer: Writer) -> None:
    assert writer.write(0, "a", "b") == Written(2)
    assert writer.read() == ["a", "b"]
    assert writer.marker() == Marker(1, "same")


def test_a_batch_that_runs_again_writes_nothing_and_consumes_all_its_rows(writer: Writer) -> None:
    writer.write(0, "a", "b")
    chunks = iter([rows(writer.topic, "a"), rows(writer.topic, "b")])
    assert writer.write(0, chunks=chunks) == Written(0, was_there=True)
    assert next(chunks, None) is None
    assert writer.read() == ["a", "b"]


def test_consecutive_batches_use_the_same_producer(writer: Writer) -> None:
    for batch in range(3):
        writer.write(batch, f"row of {batch}")
    assert writer.read() == ["row of 0", "row of 1", "row of 2"]
    assert list(writing._producers) == [f"{writer.group}.3"]


def test_a_batch_without_rows_needs_neither_producer_nor_marker(writer: Writer) -> None:
    assert writer.write(0, chunks=iter([])) == Written(0)
    assert writer.write(1, chunks=iter([rows(writer.topic)])) == Written(0)
    assert writing._producers == {}
    assert writer.marker() is None


def test_batch_numbers_may_have_gaps(writer: Writer) -> None:
    writer.write(2, "a")
    writer.write(7, "b")
    assert writer.read() == ["a", "b"]


def test_a_batch_older_than_the_last_is_refused(writer: Writer) -> None:
    writer.write(0, "a")
    writer.write(1, "b")
    with pytest.raises(RunFailed, match="has written batch 1 already, but Spark runs batch 0: the checkpoint is older"):
        writer.write(0, "a")
    assert writer.read() == ["a", "b"]


def test_a_different_batch_with_an_old_number_is_refused(writer: Writer) -> None:
    writer.write(0, "a", fingerprint="in-0@0-1")
    with pytest.raises(RunFailed, match="was written by writer 3 as 'in-0@0-1' and is now 'in-0@0-2'"):
        writer.write(0, "a", "b", fingerprint="in-0@0-2")
    assert writer.read() == ["a"]


def test_another_checkpoint_ignores_these_markers(writer: Writer) -> None:
    writer.write(0, "a")
    writer.group += ".another"
    assert writer.write(0, "a") == Written(1)


# -- failures --------------------------------------------------------------------------------


def test_rows_that_cannot_be_computed_leave_nothing(writer: Writer) -> None:
    def chunks() -> Iterator[pa.RecordBatch]:
        yield rows(writer.topic, "a")
        raise Interrupted

    with pytest.raises(Interrupted):
        writer.write(0, chunks=chunks())
    assert writer.read() == []
    assert writer.marker() is None
    assert writer.write(0, "a", "b") == Written(2)
    assert writer.read() == ["a", "b"]


@pytest.mark.parametrize(
    ("deed", "after"),
    [
        ("begin_transaction", False),
        ("begin_transaction", True),
        ("send_offsets_to_transaction", False),
        ("send_offsets_to_transaction", True),
        ("produce", False),
        ("produce", True),
        ("commit_transaction", False),
    ],
)
def test_a_batch_that_fails_before_the_commit_is_written_by_the_next_attempt(writer: Writer, fail: Any, deed: str, after: bool) -> None:
    fail(deed, after=after)
    with pytest.raises(Interrupted):
        writer.write(0, "a", "b")
    fail.repair()
    assert writer.write(0, "a", "b") == Written(2)
    assert writer.read() == ["a", "b"]


def test_a_batch_that_fails_after_the_commit_is_not_written_again(writer: Writer, fail: Any) -> None:
    fail("commit_transaction", after=True)
    with pytest.raises(Interrupted):
        writer.write(0, "a", "b")
    fail.repair()
    assert writer.write(0, "a", "b") == Written(0, was_there=True)
    assert writer.read() == ["a", "b"]


def test_the_next_attempt_ends_an_abandoned_transaction(writer: Writer) -> None:
    dead = Producer({**writer.client, **writing.PRODUCER_DEFAULTS, "transactional.id": writer.part(0).transactional_id})
    dead.init_transactions(30)
    dead.begin_transaction()
    markers = Markers(writer.client, writer.group)
    markers.add_to_transaction(dead, 3, writer.part(0).marker)
    dead.produce(writer.topic, b"a", b"k")
    dead.flush(PATIENCE_SECONDS)
    assert writer.write(0, "a") == Written(1)
    assert writer.read() == ["a"]
    with pytest.raises(KafkaException):
        dead.commit_transaction(30)
    markers.close()


# -- two attempts at once --------------------------------------------------------------------


def test_a_kept_producer_that_was_fenced_is_replaced(writer: Writer) -> None:
    writer.write(0, "a")
    kept = writing._producers.copy()
    forget_producers()
    writer.write(1, "b")  # in another process
    writing._producers.clear()
    writing._producers.update(kept)
    assert writer.write(2, "c") == Written(1)
    assert writer.read() == ["a", "b", "c"]


@pytest.mark.parametrize("kept", [False, True])
def test_a_producer_that_waits_for_a_dead_coordinator_is_replaced(writer: Writer, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    """librdkafka 2.16 waits for ever if the group's coordinator dies at the wrong moment."""
    waits = Event()

    class Waiting:
        def __init__(self, producer: Any) -> None:
            self._producer = producer

        def __getattr__(self, name: str) -> Any:
            return getattr(self._producer, name)

        def send_offsets_to_transaction(self, *_: Any) -> None:
            waits.wait()

    if kept:
        writer.write(0, "a")
        (name,) = writing._producers
        writing._producers[name] = Waiting(writing._producers[name])
    else:
        kinds: Iterator[Callable[[Any], Any]] = chain([Waiting], repeat(lambda producer: producer))
        monkeypatch.setattr(transactional_producer, "Producer", lambda settings: next(kinds)(Producer(settings)))
    monkeypatch.setattr(writing, "OFFSETS_SECONDS", 1.0)
    assert writer.write(1, "b") == Written(1)
    assert writer.read() == (["a", "b"] if kept else ["b"])
    waits.set()


def test_of_two_concurrent_attempts_one_writes_and_both_succeed(writer: Writer) -> None:
    """Speculative execution: the second starts while the first is running, and ends before it."""
    second: list[Written] = []

    def chunks() -> Iterator[pa.RecordBatch]:
        yield rows(writer.topic, "a")
        second.append(writer.write(0, "a", "b"))
        yield rows(writer.topic, "b")

    assert writer.write(0, chunks=chunks()) == Written(0, was_there=True)
    assert second == [Written(2)]
    assert writer.read() == ["a", "b"]


def test_a_fenced_attempt_waits_for_the_newer_one(writer: Writer) -> None:
    """The second starts while the first is running, and is slower."""
    first_done, second_begun, second = threading.Event(), threading.Event(), list[Written]()

    def slow() -> Iterator[pa.RecordBatch]:
        yield rows(writer.topic, "a")
        second_begun.set()
        # By then the first has found out that it was fenced: it is waiting, and would have failed
        # if it did not wait.
        first_done.wait(2)
        yield rows(writer.topic, "b")

    thread = threading.Thread(target=lambda: second.append(writer.write(0, chunks=slow())))

    def chunks() -> Iterator[pa.RecordBatch]:
        yield rows(writer.topic, "a")
        thread.start()
        assert second_begun.wait(PATIENCE_SECONDS)
        yield rows(writer.topic, "b")

    first = writer.write(0, chunks=chunks())
    first_done.set()
    thread.join()
    assert (first, second) == (Written(0, was_there=True), [Written(2)])
    assert writer.read() == ["a", "b"]


def test_reading_a_marker_waits_while_its_transaction_is_undecided(writer: Writer) -> None:
    markers = Markers(writer.client, writer.group)
    open_ = Producer({**writer.client, "transactional.id": "undecided"})
    open_.init_transactions(30)
    open_.begin_transaction()
    markers.add_to_transaction(open_, 3, Marker(1, "same"))
    with pytest.raises(RunFailed, match="The marker of writer 3"):
        markers.read(3, seconds_max=1)
    open_.commit_transaction(30)
    assert markers.read(3) == Marker(1, "same")
    markers.close()


# -- what is written -------------------------------------------------------------------------


def test_headers_timestamp_partition_and_tombstones_are_written(writer: Writer) -> None:
    topic = writer.topics.create("wide", partitions=4)
    chunk = rows(
        topic,
        *("a", "b"),
        headers=pa.array([[{"key": "h", "value": b"1"}], None], pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        partition=pa.array([2, 1], pa.int32()),
        timestamp=pa.array([1_700_000_000_123_000, None], pa.timestamp("us", tz="UTC")),
    )
    tombstone = pa.RecordBatch.from_pydict({"topic": [topic], "key": [b"gone"], "value": pa.array([None], pa.binary())})
    writer.write(0, chunks=iter([chunk, tombstone]))
    b, a, gone = sorted(writer.topics.read(topic), key=lambda each: (each.value is None, each.partition))
    assert (a.partition, a.headers, a.timestamp_ms) == (2, {"h": b"1"}, 1_700_000_000_123)
    assert (b.partition, b.headers) == (1, {})
    assert (gone.key, gone.value) == (b"gone", None)


def test_a_record_that_is_too_large_is_reported_in_a_sentence(writer: Writer) -> None:
    with pytest.raises(RunFailed, match=r"A record of 2000001 bytes for topic .* is larger than message.max.bytes allows"):
        writer.write(0, "x" * 2_000_000)
    assert writer.write(0, "small") == Written(1)


def test_a_row_without_a_topic_is_refused(writer: Writer) -> None:
    with pytest.raises(RunFailed, match="A row has no topic"):
        writer.write(0, chunks=iter([pa.RecordBatch.from_pydict({"topic": pa.array([None], pa.string()), "value": [b"a"]})]))


def test_the_marker_topic_grows_with_the_writers(bootstrap: str) -> None:
    client: dict[str, Any] = {"bootstrap.servers": bootstrap}
    ensure_marker_topic(client, 1)
    ensure_marker_topic(client, 40)
    ensure_marker_topic(client, 2)
    assert len(AdminClient(client).list_topics(timeout=PATIENCE_SECONDS).topics[MARKER_TOPIC].partitions) == 40
