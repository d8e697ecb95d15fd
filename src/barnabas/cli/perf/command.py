"""``barnabas perf``: the throughput and latency of a cluster, measured with librdkafka.

The figures are those that an application would see, including the client's own work. ``produce``
and ``consume`` run at full speed, or at the rate that is given. ``latency`` sends one record at a
time and waits until it is consumed, so nothing queues and the figure is the latency of the path
alone.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable
from typing import Annotated, Any

import typer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from barnabas.cli.cluster.client import PARTITION_EOF, Bootstrap, ConfigFile, Message, error_of, phrase, reach
from barnabas.cli.consume.assignment import choose_partitions, ends_of
from barnabas.cli.errors import Refused
from barnabas.cli.perf.measurements import Spread, Throughput, spread_of
from barnabas.cli.produce.delivery import DELIVERY_SECONDS_MAX, Acks, Compression, check_topic
from barnabas.cli.terminal.output import AsJson, print_json, print_table, progress

# A consumer that gets nothing for this long has read all records; a record that is not back by then
# is lost.
IDLE_SECONDS_MAX = 10.0
# Large enough that the call costs little per record, small enough that the progress bar moves.
_CONSUMED_AT_ONCE = 10_000
_RECORDS_BETWEEN_PROGRESS = 1000
_SLEEP_SECONDS_MIN = 0.001

Topic = Annotated[str, typer.Argument(metavar="TOPIC")]
Size = Annotated[int, typer.Option("--size", min=1, help="Bytes in a value.")]


def register(app: typer.Typer) -> None:
    perf = typer.Typer(help="Measure throughput and latency.", no_args_is_help=True)
    perf.command("produce")(produce)
    perf.command("consume")(consume)
    perf.command("latency")(latency)
    app.add_typer(perf, name="perf")


def produce(
    topic: Topic,
    records: Annotated[int, typer.Option("--records", min=1)] = 100_000,
    size: Size = 1000,
    throughput: Annotated[float | None, typer.Option("--throughput", min=1, help="Records a second; default: as fast as possible.")] = None,
    acks: Annotated[Acks, typer.Option("--acks")] = Acks.ALL,
    compression: Annotated[Compression, typer.Option("--compression")] = Compression.NONE,
    linger_ms: Annotated[float, typer.Option("--linger-ms", min=0, help="How long a batch may wait to fill.")] = 5,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Bytes in a batch at most.")] = 1_000_000,
    idempotent: Annotated[bool, typer.Option("--idempotent")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Send records of random bytes. The latency is measured from the call of the producer to the
    acknowledgement."""
    settings = {
        "acks": acks.value,
        "compression.type": compression.value,
        "linger.ms": linger_ms,
        "batch.size": batch_size,
        "enable.idempotence": idempotent,
        "message.timeout.ms": int(DELIVERY_SECONDS_MAX * 1000),
        # Holds about a second at full speed; the default of 100,000 records holds less.
        "queue.buffering.max.messages": 1_000_000,
    }
    cluster = reach(bootstrap, config_file)
    producer = cluster.producer(settings)
    check_topic(cluster, producer, topic)
    run = _ProduceRun(producer, topic, size)
    began = time.monotonic()
    with progress("Producing", records) as show:
        run.send(records, Pace(throughput), show)
    seconds = time.monotonic() - began
    if run.failed:
        raise Refused(f"{run.failed} of {records} records were not delivered: {run.error}.")
    _print_report(Throughput(records, records * size, seconds), spread_of(run.latencies_ms), as_json)


def consume(
    topic: Topic,
    records: Annotated[int | None, typer.Option("--records", min=1, help="Records to read; default: all that the topic holds now.")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Read a topic from its beginning. The clock starts with the first fetch."""
    cluster = reach(bootstrap, config_file)
    partitions = choose_partitions(cluster, topic)
    consumer = cluster.consumer({"auto.offset.reset": "error", "error_cb": lambda _: None, "enable.partition.eof": True})
    try:
        total = records if records is not None else _records_in(consumer, topic, partitions)
        consumer.assign([TopicPartition(topic, each, ends_of(consumer, topic, each).low) for each in partitions])
        with progress("Consuming", total) as show:
            measured = _read(consumer, total, None if records is not None else len(partitions), show)
    except KafkaException as error:
        raise cluster.refusal(error, f"Cannot consume {topic}") from error
    finally:
        consumer.close()
    if records is not None and measured.records < records:
        raise Refused(f"Only {measured.records} of {records} records arrived, and then none for {IDLE_SECONDS_MAX:g} seconds.")
    _print_report(measured, None, as_json)


def latency(
    topic: Topic,
    records: Annotated[int, typer.Option("--records", min=1)] = 1000,
    size: Size = 100,
    acks: Annotated[Acks, typer.Option("--acks")] = Acks.ALL,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Send a record, wait until a consumer has it, send the next. The topic's first partition is
    used."""
    cluster = reach(bootstrap, config_file)
    partition = choose_partitions(cluster, topic)[0]
    producer = cluster.producer({"acks": acks.value, "linger.ms": 0, "message.timeout.ms": int(IDLE_SECONDS_MAX * 1000)})
    consumer = cluster.consumer({"auto.offset.reset": "error", "error_cb": lambda _: None})
    try:
        consumer.assign([TopicPartition(topic, partition, ends_of(consumer, topic, partition)[1])])
        # The first record also pays for connections and metadata on both sides, so it is not
        # counted.
        _round_trip(producer, consumer, topic, partition, size)
        latencies_ms = array("d")
        began = time.monotonic()
        with progress("Round trips", records) as show:
            for number in range(records):
                latencies_ms.append(_round_trip(producer, consumer, topic, partition, size))
                show(number + 1)
        seconds = time.monotonic() - began
    except KafkaException as error:
        raise cluster.refusal(error, f"Cannot measure with {topic}") from error
    finally:
        consumer.close()
    _print_report(Throughput(records, records * size, seconds), spread_of(latencies_ms), as_json)


class Pace:
    """Decides when the next record may be sent, at a rate per second. Late records are caught up
    with, so that the average holds."""

    def __init__(self, per_second: float | None) -> None:
        self._per_second = per_second
        self._began = time.monotonic()

    def wait(self, sent: int, meanwhile: Callable[[float], Any]) -> None:
        if self._per_second is None:
            return
        early = self._began + sent / self._per_second - time.monotonic()
        if early >= _SLEEP_SECONDS_MIN:
            meanwhile(early)


class _ProduceRun:
    def __init__(self, producer: Producer, topic: str, size_bytes: int) -> None:
        self._producer = producer
        self._topic = topic
        # One random value for all records: making new ones would be measured too, and a codec
        # cannot compress one either.
        self._value = os.urandom(size_bytes)
        self.latencies_ms: array[float] = array("d")
        self.failed = 0
        self.error = ""

    def send(self, records: int, pace: Pace, show: Callable[[float], None]) -> None:
        producer, topic, value, report = self._producer, self._topic, self._value, self._report
        for number in range(records):
            pace.wait(number, producer.poll)
            while True:
                try:
                    producer.produce(topic, value, on_delivery=report)
                    break
                except BufferError:
                    producer.poll(0.05)
                except KafkaException as error:
                    raise Refused(f"Cannot produce to {topic}: {phrase(error_of(error))}.") from error
            if number % _RECORDS_BETWEEN_PROGRESS == 0:
                producer.poll(0)
                show(number)
        producer.flush()

    def _report(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.latencies_ms.append(message.latency() * 1000)
        else:
            self.failed += 1
            self.error = self.error or phrase(error)


def _records_in(consumer: Consumer, topic: str, partitions: list[int]) -> int:
    """The number of offsets, which also counts markers and compacted records. Good enough for a
    progress bar."""
    return sum(high - low for low, high in (ends_of(consumer, topic, each) for each in partitions))


def _read(consumer: Consumer, records: int, ends: int | None, show: Callable[[float], None]) -> Throughput:
    """``ends``: stop after this many partitions were read to their end; None: stop after
    ``records``."""
    count = size_bytes = 0
    at_end: set[int] = set()
    began = last = time.monotonic()
    while (count < records) if ends is None else (len(at_end) < ends):
        messages: list[Message] = consumer.consume(
            _CONSUMED_AT_ONCE if ends is not None else min(_CONSUMED_AT_ONCE, records - count), timeout=0.1
        )
        before = count
        for message in messages:
            error = message.error()
            if error is None:
                count += 1
                size_bytes += len(message)
            elif error.code() == PARTITION_EOF:
                at_end.add(message.partition())
            else:
                raise KafkaException(error)
        if count > before:
            # The end of a partition does not count: it arrives with an empty response that the
            # broker has held back.
            last = time.monotonic()
            show(count)
        elif time.monotonic() - last > IDLE_SECONDS_MAX:
            break
    return Throughput(count, size_bytes, last - began)


def _round_trip(producer: Producer, consumer: Consumer, topic: str, partition: int, size_bytes: int) -> float:
    """Milliseconds from the call of the producer until the consumer returns the record."""
    failures: list[KafkaError] = []
    value = os.urandom(size_bytes)
    began = time.perf_counter()
    producer.produce(topic, value, partition=partition, on_delivery=lambda error, _: failures.append(error) if error else None)
    while time.perf_counter() - began < IDLE_SECONDS_MAX:
        message = consumer.poll(0.1)
        producer.poll(0)
        if failures:
            raise KafkaException(failures[0])
        if message is None:
            continue
        if message.error() is not None:
            raise KafkaException(message.error())
        if message.value() == value:
            # Any other record comes from another producer: the topic may be shared.
            return (time.perf_counter() - began) * 1000
    raise Refused(f"A record sent to {topic} did not come back within {IDLE_SECONDS_MAX:g} seconds.")


def _print_report(measured: Throughput, spread: Spread | None, as_json: bool) -> None:
    if as_json:
        print_json({**measured.as_json(), "latency_ms": spread.as_json() if spread is not None else None})
        return
    typer.echo(str(measured))
    if spread is not None:
        typer.echo()
        rows = [("mean", spread.mean), *((f"p{each:g}", value) for each, value in spread.percentiles.items()), ("max", spread.largest)]
        print_table(("Latency", "ms"), [(name, f"{value:.3f}") for name, value in rows])
