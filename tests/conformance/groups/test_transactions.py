"""Transactions of librdkafka: all or nothing, one writer for each id, aborted records hidden."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from kafka import KafkaAdminClient, TopicPartition as KafkaPythonPartition
from kafka.admin import AbortTransactionSpec, TransactionState

from barnabas.testing import EmbeddedBroker
from tests.conformance.groups.conftest import QUICK, MakeTopic, create, fill, numbered
from tests.conformance.groups.members import QUIET
from tests.conformance.groups.test_commits import PROTOCOLS, committed, consumer_of, take
from tests.waiting import PATIENCE_SECONDS, until

LONGER_THAN_ANYBODY_WAITS_MS = 200_000


def transactional(bootstrap: str, transactional_id: str, **config: Any) -> Producer:
    """Underscores stand for dots."""
    settings = {name.replace("_", "."): value for name, value in config.items()}
    return Producer({**QUIET, "bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 0, **settings})


def begun(bootstrap: str, transactional_id: str, **config: Any) -> Producer:
    producer = transactional(bootstrap, transactional_id, **config)
    producer.init_transactions(PATIENCE_SECONDS)
    return producer


def send(producer: Producer, topic: str, *values: bytes, partition: int = 0) -> None:
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(PATIENCE_SECONDS) == 0


def read(bootstrap: str, topic: str, *, isolation: str = "read_committed", partition: int = 0) -> list[bytes | None]:
    """All records up to the end that this reader can see."""
    consumer = consumer_of(bootstrap, "reader", isolation_level=isolation, enable_partition_eof=True, fetch_wait_max_ms=10)
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[bytes | None] = []
    try:
        while True:
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None, "neither a record nor the end came"
            error = message.error()
            if error is None:
                values.append(message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                return values
            else:
                raise KafkaException(error)
    finally:
        consumer.close()


def will_read(bootstrap: str, topic: str, expected: list[bytes], *, isolation: str = "read_committed", partition: int = 0) -> None:
    """The end of a transaction is decided when it is answered; readers see it when the markers are
    written, a moment later."""
    until(
        lambda: read(bootstrap, topic, isolation=isolation, partition=partition) == expected,
        "the records are visible",
        seen=lambda: read(bootstrap, topic, isolation=isolation, partition=partition),
    )


def refusal(failure: pytest.ExceptionInfo[KafkaException]) -> KafkaError:
    error: KafkaError = failure.value.args[0]
    return error


def test_readers_see_committed_records_and_no_aborted_ones(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(2)
    producer = begun(bootstrap, group)
    for number in range(6):
        producer.begin_transaction()
        for partition in range(2):
            send(producer, topic, b"%d-a" % number, b"%d-b" % number, partition=partition)
        if number % 2 == 0:
            producer.commit_transaction(PATIENCE_SECONDS)
        else:
            producer.abort_transaction(PATIENCE_SECONDS)
    committed_values = [value for number in (0, 2, 4) for value in (b"%d-a" % number, b"%d-b" % number)]
    everything = [value for number in range(6) for value in (b"%d-a" % number, b"%d-b" % number)]
    for partition in range(2):
        will_read(bootstrap, topic, committed_values, partition=partition)
        assert read(bootstrap, topic, partition=partition, isolation="read_uncommitted") == everything


def test_an_open_transaction_holds_back_readers_of_committed(make_topic: MakeTopic, admin: AdminClient, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, [b"before"])
    producer = begun(bootstrap, group)
    producer.begin_transaction()
    send(producer, topic, b"within")
    fill(bootstrap, topic, [b"after"])
    assert read(bootstrap, topic) == [b"before"]
    assert read(bootstrap, topic, isolation="read_uncommitted") == [b"before", b"within", b"after"]
    partition = TopicPartition(topic, 0)

    def end(level: IsolationLevel) -> int:
        newest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        found = admin.list_offsets({partition: newest}, isolation_level=level)[partition].result(PATIENCE_SECONDS)
        return int(found.offset)

    assert (end(IsolationLevel.READ_COMMITTED), end(IsolationLevel.READ_UNCOMMITTED)) == (1, 3)
    # A waiting reader receives the records at the moment the transaction ends.
    waiting = consumer_of(
        bootstrap, "waiting", isolation_level="read_committed", fetch_wait_max_ms=LONGER_THAN_ANYBODY_WAITS_MS, socket_timeout_ms=300_000
    )
    waiting.assign([TopicPartition(topic, 0, 0)])
    assert take(waiting, 1) == [b"before"]
    assert waiting.poll(0.2) is None
    producer.commit_transaction(PATIENCE_SECONDS)
    assert take(waiting, 2) == [b"within", b"after"]
    waiting.close()
    assert (end(IsolationLevel.READ_COMMITTED), end(IsolationLevel.READ_UNCOMMITTED)) == (4, 4)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_transactions_may_be_compressed(codec: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    producer = begun(bootstrap, group, compression_type=codec)
    for outcome in ("commit", "abort", "commit"):
        producer.begin_transaction()
        send(producer, topic, *(f"{outcome} {number}".encode() for number in range(50)))
        getattr(producer, f"{outcome}_transaction")(PATIENCE_SECONDS)
    will_read(bootstrap, topic, [b"commit %d" % number for number in range(50)] * 2)


def test_an_empty_transaction_commits_and_aborts(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    producer = begun(bootstrap, group)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        end(PATIENCE_SECONDS)
    producer.begin_transaction()
    send(producer, topic, b"v")
    producer.commit_transaction(PATIENCE_SECONDS)
    will_read(bootstrap, topic, [b"v"])


# -- one writer for each id -------------------------------------------------------------------


@pytest.mark.parametrize("last_deed", ["commit", "produce"])
def test_a_zombie_is_fenced(last_deed: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    """The second producer of an id aborts the open transaction of the first, and the first can do
    nothing more."""
    topic = make_topic(1)
    zombie = begun(bootstrap, group)
    zombie.begin_transaction()
    send(zombie, topic, b"of the zombie")
    heir = begun(bootstrap, group)
    heir.begin_transaction()
    send(heir, topic, b"of the heir")

    def go_on() -> None:
        if last_deed == "produce":
            zombie.produce(topic, b"too late", partition=0)
            zombie.flush(PATIENCE_SECONDS)
        zombie.commit_transaction(PATIENCE_SECONDS)

    with pytest.raises(KafkaException) as fenced:
        go_on()
    assert refusal(fenced).fatal()
    assert refusal(fenced).code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
    heir.commit_transaction(PATIENCE_SECONDS)
    will_read(bootstrap, topic, [b"of the heir"])
    assert b"too late" not in read(bootstrap, topic, isolation="read_uncommitted")


def test_a_transaction_that_takes_too_long_is_aborted(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    slow = begun(bootstrap, group, transaction_timeout_ms=1000, message_timeout_ms=900)
    slow.begin_transaction()
    send(slow, topic, b"never")
    fill(bootstrap, topic, [b"after"])
    until(lambda: read(bootstrap, topic) == [b"after"], "the record after the aborted transaction is read")
    with pytest.raises(KafkaException) as aborted:
        slow.commit_transaction(PATIENCE_SECONDS)
    assert refusal(aborted).fatal() or refusal(aborted).txn_requires_abort()
    # The producer that takes over the id continues normally.
    heir = begun(bootstrap, group)
    heir.begin_transaction()
    send(heir, topic, b"heir")
    heir.commit_transaction(PATIENCE_SECONDS)
    will_read(bootstrap, topic, [b"after", b"heir"])


def test_a_timeout_longer_than_allowed_is_refused(bootstrap: str, group: str) -> None:
    producer = transactional(bootstrap, group, transaction_timeout_ms=900_001)
    with pytest.raises(KafkaException) as refused:
        producer.init_transactions(PATIENCE_SECONDS)
    assert refusal(refused).code() == KafkaError.INVALID_TRANSACTION_TIMEOUT


# -- offsets in transactions ------------------------------------------------------------------


@PROTOCOLS
def test_offsets_go_with_the_transaction(protocol: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    source, target = make_topic(1), make_topic(1)
    fill(bootstrap, source, numbered(0, 10))
    consumer = consumer_of(bootstrap, group, group_protocol=protocol, isolation_level="read_committed")
    consumer.subscribe([source])
    producer = begun(bootstrap, f"{group}-writer")
    for outcome, expected in (("abort", -1001), ("commit", 10)):
        producer.begin_transaction()
        send(producer, target, *(value or b"" for value in take(consumer, 10)))
        producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), PATIENCE_SECONDS)
        # The offsets are not committed before that.
        assert committed_unstable(bootstrap, group, source) == -1001
        getattr(producer, f"{outcome}_transaction")(PATIENCE_SECONDS)
        assert committed(bootstrap, group, source)[0] == expected
        consumer.seek(TopicPartition(source, 0, 0))
    will_read(bootstrap, target, numbered(0, 10))
    consumer.close()


def committed_unstable(bootstrap: str, group: str, topic: str) -> int:
    """The committed offset, without waiting for open transactions."""
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    found = admin.list_consumer_group_offsets([request], require_stable=False)[group].result(PATIENCE_SECONDS)
    return int(found.topic_partitions[0].offset)


def test_a_stable_offset_fetch_waits_for_the_end_of_the_transaction(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    consumer = consumer_of(bootstrap, group)
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = begun(bootstrap, f"{group}-writer")
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 7)], consumer.consumer_group_metadata(), PATIENCE_SECONDS)
    reader = consumer_of(bootstrap, group, isolation_level="read_committed")
    found: list[int] = []
    asking = threading.Thread(target=lambda: found.append(reader.committed([TopicPartition(topic, 0)], PATIENCE_SECONDS)[0].offset))
    asking.start()
    asking.join(0.3)
    assert found == [], "an offset that may yet be aborted was told"
    producer.commit_transaction(PATIENCE_SECONDS)
    asking.join(PATIENCE_SECONDS)
    assert found == [7]
    reader.close()
    consumer.close()


@PROTOCOLS
def test_transactional_offsets_of_a_former_member_are_refused(protocol: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    """KIP-447: a former member may not commit for the group."""
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 10))

    def member() -> Consumer:
        consumer = consumer_of(bootstrap, group, group_protocol=protocol)
        consumer.subscribe([topic])
        assert take(consumer, 10) == numbered(0, 10)
        return consumer

    gone = member()
    of_the_gone = gone.consumer_group_metadata()
    gone.close()
    successor = member()
    producer = begun(bootstrap, f"{group}-writer")
    producer.begin_transaction()
    with pytest.raises(KafkaException) as refused:
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 7)], of_the_gone, PATIENCE_SECONDS)
    assert refusal(refused).txn_requires_abort()
    producer.abort_transaction(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 8)], successor.consumer_group_metadata(), PATIENCE_SECONDS)
    producer.commit_transaction(PATIENCE_SECONDS)
    assert committed(bootstrap, group, topic)[0] == 8
    successor.close()


# -- consume, transform, produce --------------------------------------------------------------


class Transformer:
    """Reads ``source`` and writes the double to ``target``, with offsets and records in one
    transaction; at first it aborts every third transaction."""

    def __init__(self, bootstrap: str, group: str, source: str, target: str, number: int, protocol: str) -> None:
        self._names = (bootstrap, group, source, target, number, protocol)
        self.stopping = threading.Event()
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._live()
        except BaseException as failure:  # noqa: BLE001 - looked at by the test
            self.failure = failure

    def _live(self) -> None:
        bootstrap, group, source, target, number, protocol = self._names
        consumer = consumer_of(bootstrap, group, group_protocol=protocol, isolation_level="read_committed")
        producer = begun(bootstrap, f"{group}-{number}")
        consumer.subscribe([source])
        attempts = 0
        try:
            while not self.stopping.is_set():
                messages = consumer.consume(20, 0.05)
                if not messages:
                    continue
                attempts += 1
                producer.begin_transaction()
                for message in messages:
                    assert message.error() is None, message.error()
                    producer.produce(target, b"%d" % (2 * int(message.value() or b"")), partition=message.partition() or 0)
                try:
                    positions = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
                    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), PATIENCE_SECONDS)
                    if attempts % 3 == 1:
                        producer.abort_transaction(PATIENCE_SECONDS)
                        self._rewind(consumer, messages)
                    else:
                        producer.commit_transaction(PATIENCE_SECONDS)
                except KafkaException as failure:
                    if not failure.args[0].txn_requires_abort():
                        raise
                    producer.abort_transaction(PATIENCE_SECONDS)
                    self._rewind(consumer, messages)
        finally:
            consumer.close()

    @staticmethod
    def _rewind(consumer: Consumer, messages: list[Message]) -> None:
        """Seeks to the first message of each partition that the consumer still owns."""
        first: dict[int, int] = {}
        for message in messages:
            first.setdefault(message.partition() or 0, message.offset() or 0)
        for partition in consumer.assignment():
            if partition.partition in first:
                consumer.seek(TopicPartition(partition.topic, partition.partition, first[partition.partition]))


@PROTOCOLS
def test_consume_transform_produce_is_exactly_once(protocol: str, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    """Transformers join and leave meanwhile, and every third transaction is aborted."""
    source, target = make_topic(3), make_topic(3)
    transformers = [Transformer(bootstrap, group, source, target, 0, protocol)]
    for step in range(3):
        for partition in range(3):
            fill(bootstrap, source, numbered(step * 50, step * 50 + 50), partition)
        if step < 2:
            transformers.append(Transformer(bootstrap, group, source, target, step + 1, protocol))
        else:
            transformers[0].stopping.set()
            transformers[0].thread.join(PATIENCE_SECONDS)
    expected = [b"%d" % (2 * number) for number in range(150)]

    def written() -> bool:
        assert [each.failure for each in transformers if each.failure is not None] == []
        return all(len(read(bootstrap, target, partition=partition)) >= 150 for partition in range(3))

    until(written, "everything is transformed", seen=lambda: [len(read(bootstrap, target, partition=partition)) for partition in range(3)])
    for transformer in transformers:
        transformer.stopping.set()
    for transformer in transformers:
        transformer.thread.join(PATIENCE_SECONDS)
    assert [each.failure for each in transformers if each.failure is not None] == []
    for partition in range(3):
        assert read(bootstrap, target, partition=partition) == expected


# -- restarts and administration --------------------------------------------------------------


@pytest.fixture
def mortal() -> Iterator[EmbeddedBroker]:
    """A node for this test alone."""
    with EmbeddedBroker(process=True, config=QUICK) as running:
        yield running
        assert running.complaints == ""


@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_a_transaction_survives_a_restart_of_the_node(mortal: EmbeddedBroker, ending: str) -> None:
    topic = create(AdminClient({**QUIET, "bootstrap.servers": mortal.bootstrap}), "t", 2)
    producer = begun(mortal.bootstrap, "survivor", reconnect_backoff_max_ms=200)
    open_before = begun(mortal.bootstrap, "never-comes-back", transaction_timeout_ms=60_000)
    open_before.begin_transaction()
    send(open_before, topic, b"never committed", partition=1)
    producer.begin_transaction()
    send(producer, topic, b"aborted")
    producer.abort_transaction(PATIENCE_SECONDS)
    producer.begin_transaction()
    send(producer, topic, b"before")
    getattr(mortal, ending)()
    mortal.start()
    send(producer, topic, b"after")
    producer.commit_transaction(PATIENCE_SECONDS)
    producer.begin_transaction()
    send(producer, topic, b"next")
    producer.commit_transaction(PATIENCE_SECONDS)
    will_read(mortal.bootstrap, topic, [b"before", b"after", b"next"])
    # The transaction is still open, until another producer takes over its id.
    assert read(mortal.bootstrap, topic, partition=1) == []
    heir = begun(mortal.bootstrap, "never-comes-back")
    fill(mortal.bootstrap, topic, [b"visible"], 1)
    until(lambda: read(mortal.bootstrap, topic, partition=1) == [b"visible"], "the records of the other partition are visible")
    del heir


def test_transactions_are_listed_and_described(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    producer = begun(bootstrap, group, transaction_timeout_ms=54_321)
    producer.begin_transaction()
    send(producer, topic, b"v")
    partition = KafkaPythonPartition(topic, 0)
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        described = admin.describe_transactions([group])[group]
        assert (described.state, described.transaction_timeout_ms) == (TransactionState.ONGOING, 54_321)
        assert described.topic_partitions == {partition}
        listed = [each for listings in admin.list_transactions().values() for each in listings if each.transactional_id == group]
        assert [(each.producer_id, each.state) for each in listed] == [(described.producer_id, TransactionState.ONGOING)]
        (writer,) = admin.describe_producers([partition])[partition].active_producers
        assert (writer.producer_id, writer.producer_epoch) == (described.producer_id, described.producer_epoch)
        assert (writer.last_sequence, writer.current_transaction_start_offset) == (0, 0)
        producer.commit_transaction(PATIENCE_SECONDS)
        until(lambda: admin.describe_transactions([group])[group].state is TransactionState.COMPLETE_COMMIT, "the transaction is committed")
        (writer,) = admin.describe_producers([partition])[partition].active_producers
        assert writer.current_transaction_start_offset == -1
    finally:
        admin.close()


def test_a_transaction_is_aborted_by_force(make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    producer = begun(bootstrap, group)
    producer.begin_transaction()
    send(producer, topic, b"hanging")
    fill(bootstrap, topic, [b"after"])
    assert read(bootstrap, topic) == []
    partition = KafkaPythonPartition(topic, 0)
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    writers = admin.describe_producers([partition])[partition].active_producers
    (writer,) = (each for each in writers if each.current_transaction_start_offset >= 0)
    admin.abort_transaction(AbortTransactionSpec(partition, writer.producer_id, writer.producer_epoch, writer.coordinator_epoch))
    admin.close()
    assert read(bootstrap, topic) == [b"after"]


def test_a_transaction_commits_offsets_of_a_group_without_a_known_coordinator() -> None:
    """librdkafka looks for the group's coordinator only after AddOffsetsToTxn has succeeded: that
    must create ``__consumer_offsets``."""
    nowhere = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "first", "log_level": 0})
    with EmbeddedBroker(config=QUICK) as broker:
        create(AdminClient({"bootstrap.servers": broker.bootstrap}), "t")
        producer = begun(broker.bootstrap, "id")
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition("t", 0, 5)], nowhere.consumer_group_metadata(), PATIENCE_SECONDS)
        producer.commit_transaction(PATIENCE_SECONDS)
        assert committed(broker.bootstrap, "first", "t")[0] == 5
    nowhere.close()
