"""One data directory, used in turn by Apache Kafka 4.3 and by Barnabas, each leaving it cleanly or
by ``kill -9``.

After every change of the program, the test reads back everything that was ever acknowledged, and
writes more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, free_port, why_missing
from tests.conformance.directories.world import QUIET, World, patiently, reader
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

SETTINGS = {
    # Snapshots after every few kilobytes of metadata, so that both programs write some and must
    # read the other's.
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    # After a kill Kafka waits until the session of the dead broker is over.
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "4000",
    # Members that send no heartbeats must not expire during the test.
    "group.consumer.max.session.timeout.ms": "300000",
    "group.consumer.session.timeout.ms": "300000",
    "group.streams.max.session.timeout.ms": "300000",
    "group.streams.session.timeout.ms": "300000",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.share.max.session.timeout.ms": "300000",
    "group.share.session.timeout.ms": "300000",
    "group.share.assignment.interval.ms": "0",
}
STOP, KILL = "stop", "kill"


@contextmanager
def kafka(data: Path, port: int, ending: str, *, format_storage: bool = False) -> Iterator[str]:
    with apache_kafka(data, extra=SETTINGS, format_storage=format_storage, port=port) as (bootstrap, process):
        yield bootstrap
        if ending == KILL:
            process.kill()
            process.wait()


@contextmanager
def barnabas(data: Path, port: int, ending: str) -> Iterator[str]:
    node = EmbeddedBroker(process=True, data_dir=data, port=port, config=SETTINGS)
    node.start()
    try:
        yield node.bootstrap
        assert node.complaints == ""
    finally:
        node.kill() if ending == KILL else node.stop()


def snapshots(data: Path) -> set[str]:
    return {path.name for path in (data / "__cluster_metadata-0").glob("*.checkpoint") if not path.name.startswith("0" * 20 + "-")}


def await_new_snapshot(data: Path, before: set[str]) -> None:
    until(lambda: snapshots(data) - before, "a snapshot of the metadata is written")


def test_records_survive_kafka_to_barnabas_and_back_again(tmp_path: Path) -> None:
    data, port, world = tmp_path / "data", free_port(), World()
    with kafka(data, port, KILL, format_storage=True) as bootstrap:
        world.found(bootstrap)
        world.write(bootstrap)
        transactions(bootstrap)
        committed_offset(bootstrap)
        await_new_snapshot(data, set())

    world.killed = True
    seen = snapshots(data)
    with barnabas(data, port, STOP) as bootstrap:
        world.verify(bootstrap)
        only_committed_transactions_are_read(bootstrap)
        world.write(bootstrap)
        await_new_snapshot(data, seen)

    world.killed = False
    with kafka(data, port, STOP) as bootstrap:
        world.verify(bootstrap)
        only_committed_transactions_are_read(bootstrap)
        assert committed_offsets(bootstrap) == [2]
        world.write(bootstrap)

    with barnabas(data, port, KILL) as bootstrap:
        world.verify(bootstrap)
        only_committed_transactions_are_read(bootstrap)
        world.write(bootstrap)

    world.killed = True
    with kafka(data, port, KILL) as bootstrap:
        world.verify(bootstrap)
        assert committed_offsets(bootstrap) == [2]


def test_records_survive_barnabas_to_kafka_and_back_again(tmp_path: Path) -> None:
    data, port, world = tmp_path / "data", free_port(), World()
    data.mkdir()
    with barnabas(data, port, KILL) as bootstrap:
        world.found(bootstrap)
        world.write(bootstrap)
        await_new_snapshot(data, set())

    world.killed = True
    with kafka(data, port, KILL) as bootstrap:
        world.verify(bootstrap)
        world.write(bootstrap)

    with barnabas(data, port, STOP) as bootstrap:
        world.verify(bootstrap)
        world.write(bootstrap)

    world.killed = False
    with barnabas(data, port, STOP) as bootstrap:
        world.verify(bootstrap)


def test_an_idempotent_producer_does_not_notice_that_its_broker_is_another_program(tmp_path: Path) -> None:
    """One producer with one producer id and one series of sequence numbers writes to Kafka,
    Barnabas and Kafka again, at one address."""
    data, port = tmp_path / "data", free_port()
    producer: Producer | None = None
    offsets: list[int | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offsets.append(message.offset())

    holders: list[Callable[[], AbstractContextManager[str]]] = [
        lambda: kafka(data, port, STOP, format_storage=True),
        lambda: barnabas(data, port, STOP),
        lambda: barnabas(data, port, KILL),
        lambda: kafka(data, port, KILL),
    ]
    for number, holder in enumerate(holders):
        with holder() as bootstrap:
            if producer is None:
                admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
                admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(PATIENCE_SECONDS)
                producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "enable.idempotence": True, "reconnect.backoff.max.ms": 100})
            for _ in range(7):
                producer.produce("kept", f"{number}".encode(), partition=0, on_delivery=delivered)
                assert producer.flush(PATIENCE_SECONDS) == 0
    assert offsets == list(range(28))


# -- transactions -----------------------------------------------------------------------------


def transactions(bootstrap: str) -> None:
    """Transactions that are committed, aborted and committed again: control batches, an index of
    aborted transactions, and records to be skipped."""
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "transactional.id": "traveller"})
    producer.init_transactions(PATIENCE_SECONDS)
    for number, commit in enumerate((True, False, True, False, True)):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce("transactional", f"{number}".encode(), partition=0)
        producer.flush(PATIENCE_SECONDS)
        if commit:
            producer.commit_transaction(PATIENCE_SECONDS)
        else:
            producer.abort_transaction(PATIENCE_SECONDS)


def only_committed_transactions_are_read(bootstrap: str) -> None:
    for isolation, wanted in (("read_committed", "000222444"), ("read_uncommitted", "000111222333444")):
        consumer = reader(bootstrap, **{"isolation.level": isolation})
        consumer.assign([TopicPartition("transactional", 0, 0)])
        read = b""
        while len(read) < len(wanted):
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None
            assert message.error() is None, message.error()
            read += message.value() or b""
        assert read.decode() == wanted
        # Five markers and fifteen records.
        assert consumer.get_watermark_offsets(TopicPartition("transactional", 0), PATIENCE_SECONDS) == (0, 20)
        consumer.close()


def committed_offset(bootstrap: str) -> None:
    consumer = of_group(bootstrap)
    patiently(lambda: consumer.commit(offsets=[TopicPartition("plain", 0, 2)], asynchronous=False))
    consumer.close()


def committed_offsets(bootstrap: str) -> list[int]:
    consumer = of_group(bootstrap)
    found = patiently(lambda: consumer.committed([TopicPartition("plain", 0)], PATIENCE_SECONDS))
    consumer.close()
    return [each.offset for each in found]


def of_group(bootstrap: str) -> Consumer:
    return Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "travellers", "enable.auto.commit": False})
