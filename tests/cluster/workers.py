"""Clients that work without pause and record every response: the processes of a history.

They are confluent-kafka's, as users have them, with timeouts that fit the tests' clusters. A
sender's values are the history's next ones, so every value of a partition is unique, whichever
process sent it.
"""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.cluster.history import Key, Moved, Operation, Outcome, Polled, Sent, WorkerJournal

if TYPE_CHECKING:
    # Not at run time: this module needs Barnabas's wire format, and importing it would double the
    # start of a worker's process.
    from tests.cluster.access import Login

# A paused node keeps its connections, so a client that waits for its answer must give up at some
# point.
QUICK_CLIENT: dict[str, str | int | float] = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 200,
    "socket.timeout.ms": 3000,
    "topic.metadata.refresh.fast.interval.ms": 100,
    # A leader without network still answers that there are no new records: a client that asks no
    # other broker waits for minutes, as with Kafka.
    "topic.metadata.refresh.interval.ms": 2000,
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}
# No run reaches this timeout, so that no outcome is unknown. It must not: a librdkafka whose
# message times out takes a new epoch and sends all others again, also those whose responses were
# lost, and in the new epoch no broker can recognise them.
MESSAGE_TIMEOUT_MS = 600_000
TRANSACTION_TIMEOUT_MS = 15_000
TRANSACTION_SENDS_MAX = 6
ABORT_SHARE = 0.2
LEAVE_SECONDS_MAX = 10.0
SENDS_PER_SECOND = 300


def value_of(message: Message) -> int:
    value = message.value()
    assert value is not None
    return int(value)


def polled(message: Message) -> Polled:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return Polled(Key(topic, partition), offset, value_of(message))


class Working(Protocol):
    """A worker, in a thread or in a process of its own."""

    abandoned: bool

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def join(self) -> None: ...


class Worker(ABC):
    """A thread that repeats its work until it is stopped. Its exceptions fail the test."""

    transactional = False

    def __init__(self, process: str, settings: Mapping[str, Any], history: WorkerJournal, keys: Sequence[Key], seed: int = 0) -> None:
        """``settings`` are those of librdkafka for the connection."""
        self.process = process
        self.settings = settings
        self.history = history
        self.keys = list(keys)
        self.chance = random.Random(f"{seed}/{process}")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.run, name=process, daemon=True)
        self.failure: BaseException | None = None
        self.client: Producer | Consumer | None = None
        self._new_login: Login | None = None
        # The test has failed, so requests in flight are dropped.
        self.abandoned = False

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def go_round(self) -> None: ...

    @abstractmethod
    def end(self) -> None: ...

    def use_password(self, login: Login) -> None:
        """From the next authentication on; connections stay. Returns before the client knows it:
        confluent-kafka 2.16 deadlocks when another thread sets the password of a consumer that
        polls."""
        self._new_login = login

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def join(self) -> None:
        self._thread.join(MESSAGE_TIMEOUT_MS / 1000 + 30)
        assert not self._thread.is_alive(), f"{self.process} does not come to an end"
        if self.failure is not None:
            raise self.failure

    def run(self) -> None:
        """Works in the calling thread until it is stopped."""
        try:
            self.begin()
            while not self._stop.is_set():
                self._change_password()
                self.go_round()
            self.end()
        except BaseException as failure:  # noqa: BLE001 - handed to whoever joins
            self.failure = failure
            self.history.complain(f"{self.process}: {failure!r}")

    def _change_password(self) -> None:
        login, self._new_login = self._new_login, None
        if login is not None:
            assert self.client is not None
            self.client.set_sasl_credentials(login.user, login.password)


class IdempotentSender(Worker):
    """A producer with acks=all and idempotence, with many batches in flight."""

    IN_FLIGHT_MAX = 5

    def begin(self) -> None:
        self._producer = self.client = Producer(
            {
                **self.settings,
                "enable.idempotence": True,
                "max.in.flight.requests.per.connection": self.IN_FLIGHT_MAX,
                "linger.ms": 2,
                "message.timeout.ms": MESSAGE_TIMEOUT_MS,
                # Everything that is sent during the longest stall.
                "queue.buffering.max.messages": 2 * SENDS_PER_SECOND * MESSAGE_TIMEOUT_MS // 1000,
                "request.timeout.ms": 2500,
                **QUICK_CLIENT,
            }
        )

    def go_round(self) -> None:
        self.send(self.chance.choice(self.keys))
        # A longer poll would return with the next delivery, and the sender would go twice as fast.
        self._producer.poll(0)
        self._stop.wait(1 / SENDS_PER_SECOND)

    def send(self, key: Key) -> None:
        value = self.history.next_value(key)

        def delivered(error: KafkaError | None, message: Message) -> None:
            outcome = Outcome.OK if error is None else Outcome.INFO
            offset = message.offset() if error is None else None
            self.history.add(Operation(self.process, outcome, (Sent(key, value, offset),)))

        self._producer.produce(key.topic, *self.record(value), partition=key.partition, on_delivery=delivered)

    def record(self, value: int) -> tuple[bytes, bytes | None]:
        """The value and the key of the record; the value begins with the number."""
        return b"%d" % value, None

    def end(self) -> None:
        if self.abandoned:
            self._producer.purge()
        left = self._producer.flush(MESSAGE_TIMEOUT_MS / 1000)
        assert left == 0, f"{left} messages of {self.process} are neither delivered nor given up"


class PatientSender(IdempotentSender):
    """A producer with one batch in flight, for leaders that learn slowly of their leadership.

    A leader that refused a first batch, because it did not know yet, finds a second one out of
    order. librdkafka 2.16 then begins a new epoch and sends all of them again ("skipped sequence
    numbers"), also batches that an earlier leader has kept and replicated: those are duplicated,
    and no broker can know.
    """

    IN_FLIGHT_MAX = 1


class TransactionalSender(Worker):
    """Transactions over several partitions, some aborted on purpose."""

    transactional = True

    def begin(self) -> None:
        self._producer = self._make()

    def _make(self) -> Producer:
        producer = self.client = Producer(
            {
                **self.settings,
                "transactional.id": self.process,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "linger.ms": 2,
                "request.timeout.ms": 2500,
                **QUICK_CLIENT,
            }
        )
        _persist(producer.init_transactions, 10)
        return producer

    def go_round(self) -> None:
        sends: list[Sent] = []
        try:
            outcome = self._transact(sends)
        except KafkaException as failure:
            if not failure.args[0].fatal():
                raise
            # The next producer of the id commits or aborts the open transaction.
            outcome = Outcome.INFO
            self._producer = self._make()
        self.history.add(Operation(self.process, outcome, tuple(sends), transactional=True))

    def _transact(self, sends: list[Sent]) -> Outcome:
        places: dict[tuple[Key, int], int] = {}
        aborts = self.chance.random() < ABORT_SHARE
        self._producer.begin_transaction()
        asked_to_commit = False
        try:
            for _ in range(self.chance.randint(1, TRANSACTION_SENDS_MAX)):
                key = self.chance.choice(self.keys)
                sends.append(Sent(key, self.history.next_value(key)))
                self._send(sends[-1], places)
            if not aborts:
                # The commit would do this first by itself, but its failure would leave unknown
                # whether anything was committed.
                self._producer.flush(MESSAGE_TIMEOUT_MS / 1000)
                asked_to_commit = True
                _persist(self._producer.commit_transaction, 10)
                return Outcome.OK
            _persist(self._producer.abort_transaction, 10)
            return Outcome.FAIL
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                raise
            _persist(self._producer.abort_transaction, 10)
            return Outcome.INFO if asked_to_commit else Outcome.FAIL
        finally:
            sends[:] = [Sent(each.key, each.value, places.get((each.key, each.value))) for each in sends]

    def _send(self, sent: Sent, places: dict[tuple[Key, int], int]) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            if error is None and offset is not None:
                places[sent.key, sent.value] = offset

        self._producer.produce(sent.key.topic, b"%d" % sent.value, partition=sent.key.partition, on_delivery=delivered)
        self._producer.poll(0)

    def end(self) -> None:
        """Ends between transactions, so that none is open."""


class AssignedReader(Worker):
    """Reads partitions from their beginning, and now and then starts again."""

    AGAIN_SHARE = 1 / 256

    def begin(self) -> None:
        self._consumer = self.client = Consumer(
            {
                **self.settings,
                "group.id": f"nobody-{self.process}",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                # No test deletes records: an offset out of range means that the cluster lost
                # acknowledged records.
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 100,
                **QUICK_CLIENT,
            }
        )
        self._assign()

    def _assign(self) -> None:
        self.history.add(Moved(self.process))
        self._consumer.assign([TopicPartition(key.topic, key.partition, 0) for key in self.keys])

    def go_round(self) -> None:
        if self.chance.random() < self.AGAIN_SHARE:
            self._assign()
        _poll(self._consumer, self)

    def end(self) -> None:
        self._consumer.close()


class GroupReader(Worker):
    """A member of a group that commits the records that it has read."""

    GROUP = "readers"

    def begin(self) -> None:
        self._consumer = self.client = Consumer(
            {
                **self.settings,
                "group.id": self.GROUP,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 500,
                "fetch.wait.max.ms": 100,
                **QUICK_CLIENT,
            }
        )
        topics = sorted({key.topic for key in self.keys})
        self._consumer.subscribe(topics, on_assign=self._moved, on_revoke=self._moved, on_lost=self._moved)

    def _moved(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.history.add(Moved(self.process))

    def go_round(self) -> None:
        if _poll(self._consumer, self):
            try:
                self._consumer.commit(asynchronous=False)
            except KafkaException:
                # Another member has the partitions now, or the coordinator moves: the records are
                # read again.
                return

    def end(self) -> None:
        """Bound the wait: librdkafka sometimes waits for ever for the answer to its LeaveGroup from
        a coordinator that was restarted."""
        closing = threading.Thread(target=self._consumer.close, daemon=True)
        closing.start()
        closing.join(LEAVE_SECONDS_MAX)


def _poll(consumer: Consumer, worker: Worker) -> bool:
    """Whether anything was read."""
    messages = consumer.consume(200, 0.1)
    read: list[Polled] = []
    for message in messages:
        error = message.error()
        if error is None:
            read.append(polled(message))
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE) or error.fatal():
            worker.history.complain(f"{worker.process} was told: {error}")
    if read:
        worker.history.add(Operation(worker.process, Outcome.OK, tuple(read)))
    return bool(read)


def _persist(call: Callable[..., Any], *arguments: Any) -> Any:
    deadline = time.monotonic() + MESSAGE_TIMEOUT_MS / 1000
    while True:
        try:
            return call(*arguments)
        except KafkaException as failure:
            error = failure.args[0]
            if error.fatal() or error.txn_requires_abort() or not error.retriable() or time.monotonic() > deadline:
                raise


@contextmanager
def working(workers: Sequence[Working]) -> Iterator[None]:
    """Runs the workers in the background. At the end of the block all have ended, after delivering
    everything that they sent."""
    for worker in workers:
        worker.start()
    try:
        yield
    except BaseException:
        for worker in workers:
            worker.abandoned = True
        raise
    finally:
        for worker in workers:
            worker.stop()
    for worker in workers:
        worker.join()
