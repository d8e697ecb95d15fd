"""Consume, transform, produce: a program that copies ``input`` to ``output``, each record once, and
may die at any moment.

    python -m tests.cluster.copier BOOTSTRAP TRANSACTIONAL_ID INSTANCE_ID PROTOCOL SEED SETTINGS

SETTINGS is a properties file with the client's settings for security. The copier prints ``ready``
when its producer has fenced the previous owner of the transactional id, and ``begin NAME SECONDS``
and ``end`` around every call that may block, so that the test can tell a copier that hangs inside
its client. Now and then it aborts a transaction on purpose, and what it writes into such a one
begins with ``never``. Its exit code is :data:`FENCED` when another copier has taken its place, and
:data:`BROKEN` when it was given a record that is not the next one. Its journal goes to stderr,
among librdkafka's own log.

``Copier.java`` is the same program for the Java client.

The test blames the broker for a record that is copied twice or not at all, so the copier itself
must not be able to cause either:

* *Where it starts.* The copier never leaves this to librdkafka. Up to 2.16 at least, librdkafka
  starts a partition by ``auto.offset.reset`` although its offset is committed, when OffsetFetch
  answers UNSTABLE_OFFSET_COMMIT and the assignment changed while that request was in flight
  (``rd_kafka_assignment_apply_offsets`` keeps the invalid offset of the answer). It also leaves a
  partition without a fetcher when OffsetFetch is refused with NOT_COORDINATOR. So the copier asks
  for the committed offsets in its assignment callback and assigns explicit ones, and
  ``auto.offset.reset=error`` turns any other start into an error.
* *What an error means.* ``committed()`` reports errors as exceptions and also in single partitions,
  whose offset is then -1001, the same number as for a partition without a committed offset. Only an
  answer without any error counts, see :meth:`Copier._committed`.
* *Which generation commits.* ``consumer_group_metadata()`` tells what librdkafka's background
  thread knows now. That may be newer than the records in hand, or an empty member id and generation
  -1, which a coordinator accepts from every producer inside a transaction. So the metadata is taken
  before the records are polled, must name a member and its generation, and a batch during which the
  assignment changed is dropped. A coordinator that has moved on then refuses the commit.
* *What an abort rewinds to.* The copier seeks the partitions that the callbacks gave to it, to
  their committed offsets. The group may have taken a partition away already while its callback,
  which only ``poll`` runs, is still to come. Then the seek moves a fetcher that is about to end,
  and the coordinator refuses a batch that is polled before the callback, because its generation is
  old. A seek that fails ends the copier. librdkafka delivers no record after a seek that it fetched
  before: each seek raises the partition's version, and records of older versions are dropped.
* *That the records are the right ones.* The input has neither transactions nor compaction, so its
  offsets have no gaps: each record must be the one after the last, and the first one must be where
  the copier started or sought. Any other record is :data:`BROKEN`, and fails the test.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

INPUT, OUTPUT, GROUP = "input", "output", "copiers"
OUTPUT_PARTITIONS = 2
FENCED = 3
BROKEN = 4
BATCH_MAX = 100
ABORT_SHARE = 0.15
# Every copier aborts this one of its transactions, however few it has.
ABORTED_FIRST = 2
# A transaction of a copier that is not started again ends by itself after this time.
TRANSACTION_TIMEOUT_MS = 10_000
SESSION_TIMEOUT_MS = 2_000
# The group waits this long for a member that does not poll. It is longer than the calls between two
# polls take together when each uses up its limit, and short enough that a copier that hangs does
# not stop its group for Kafka's five minutes.
POLL_INTERVAL_MAX_MS = 90_000
# A request without an answer is given up after this time; otherwise one stopped broker would hold
# up a copier for a minute.
SOCKET_TIMEOUT_MS = 10_000
# The limits of single calls. librdkafka shortens those of transactions to the transaction's
# timeout, except the first.
INIT_SECONDS = 30
END_SECONDS = 30
SEND_OFFSETS_SECONDS = 20
COMMITTED_SECONDS = 10
# A seek has no limit of its own; it is done by librdkafka's own thread, without the broker.
SEEK_SECONDS = 10
# The limit over all attempts to fetch the committed offsets: a transaction that holds them ends by
# its timeout, after a change of coordinators.
COMMITTED_SECONDS_MAX = 60

# Contexts of librdkafka's debug log: the assignment of partitions, and the steps of transactions.
DEBUG = os.environ.get("COPIER_DEBUG", "cgrp,eos")

_FENCING = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError._FATAL,
}
# Errors that mean that the records are not where the copier was: an offset out of range, a
# truncated log, or a start without an offset.
_ASTRAY = {KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE}
_CLIENT = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 20,
    "socket.timeout.ms": SOCKET_TIMEOUT_MS,
    # A producer of librdkafka 2.16 that bootstraps again while send_offsets_to_transaction waits
    # loses that request, and waits for ever.
    "metadata.recovery.strategy": "none",
    **({"debug": DEBUG, "log_level": 7} if DEBUG else {"log_level": 2}),
}

# A call that must not be repeated after an error, even a retriable one: its transaction is aborted,
# or the copier ends.
_ONCE = frozenset({"send_offsets_to_transaction"})


class Astray(Exception):
    """A record arrived that is not the next one."""


class Copier:
    def __init__(self, bootstrap: str, transactional_id: str, instance_id: str, protocol: str, seed: str, settings: str) -> None:
        self._chance = random.Random(seed)
        security = dict(line.split("=", 1) for line in Path(settings).read_text().splitlines())
        self._incremental = protocol == "consumer"
        # The offset of the next record, for every partition that the callbacks assigned to this
        # copier and did not revoke.
        self._next: dict[int, int] = {}
        self._changes = 0
        self._transactions = 0
        self._batch: dict[int, list[Message]] = {}
        classic = {"session.timeout.ms": SESSION_TIMEOUT_MS, "heartbeat.interval.ms": 200} if protocol == "classic" else {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                **security,
                "group.id": GROUP,
                "group.protocol": protocol,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "max.poll.interval.ms": POLL_INTERVAL_MAX_MS,
                **({"group.instance.id": instance_id} if instance_id else {}),
                **classic,
                **_CLIENT,
            }
        )
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                **security,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "linger.ms": 1,
                **_CLIENT,
            }
        )

    def run(self) -> NoReturn:
        self._persist(self._producer.init_transactions, INIT_SECONDS)
        say("ready")
        self._consumer.subscribe([INPUT], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
        while True:
            membership = self._collect()
            if membership is not None and any(self._batch.values()):
                self._copy(membership)

    # -- the assignment -----------------------------------------------------------------------

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._changed("assigned", partitions)
        started = self._committed(each.partition for each in partitions)
        explicit = [TopicPartition(INPUT, partition, offset) for partition, offset in started.items()]
        if self._incremental:
            consumer.incremental_assign(explicit)
        else:
            consumer.assign(explicit)
            self._next.clear()
        self._next |= started
        journal("start at", started)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._gone("revoked", partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._gone("lost", partitions)

    def _gone(self, how: str, partitions: list[TopicPartition]) -> None:
        self._changed(how, partitions)
        for each in partitions:
            self._next.pop(each.partition, None)

    def _changed(self, how: str, partitions: list[TopicPartition]) -> None:
        journal(how, [each.partition for each in partitions])
        self._changes += 1
        for each in partitions:
            self._batch.pop(each.partition, None)

    def _committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Where to continue, by partition: 0 only if the coordinator reports, without any error,
        that nothing is committed."""
        asked = [TopicPartition(INPUT, partition) for partition in partitions]
        deadline = time.monotonic() + COMMITTED_SECONDS_MAX
        while asked:
            try:
                answer = called(self._consumer.committed, COMMITTED_SECONDS, asked)
                told = [(each.partition, each.offset, each.error) for each in answer]
                journal("committed", told)
                offsets = starts(told)
                if offsets is not None:
                    return offsets
            except KafkaException as failure:
                error = failure.args[0]
                if error.fatal() or error.code() in _FENCING:
                    raise
            if time.monotonic() > deadline:
                raise TimeoutError(f"no committed offsets in {COMMITTED_SECONDS_MAX} s")
        return {}

    # -- rounds -------------------------------------------------------------------------------

    def _collect(self) -> bytes | None:
        """A batch, and the membership under which it may be committed; None if there is none, or if
        the assignment changed meanwhile."""
        self._batch = {}
        changes = self._changes
        membership = self._membership()
        patience = 0.2
        while sum(map(len, self._batch.values())) < BATCH_MAX:
            message = self._consumer.poll(patience)
            if message is not None:
                self._take(message)
            if self._changes != changes:
                self._drop()
                return None
            if message is None:
                break
            patience = 0.005
        if membership is None and any(self._batch.values()):
            journal("no member, but records")
            self._drop()
        return membership

    def _membership(self) -> bytes | None:
        """The consumer group's metadata, if it names a member and a generation."""
        metadata: bytes | None = self._consumer.consumer_group_metadata()
        if metadata is None:
            return None
        generation, member_id = parsed(metadata)
        return metadata if generation > 0 and member_id else None

    def _take(self, message: Message) -> None:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is not None:
            journal("poll", error)
            if error.code() in _ASTRAY:
                raise Astray(f"{error!r}, next are {self._next}")
            if error.code() in _FENCING or error.fatal():
                raise KafkaException(error)
            return
        assert partition is not None
        expected = self._next.get(partition)
        if offset is None or offset != expected:
            raise Astray(f"partition {partition}: {offset} where {expected} is next; next are {self._next}")
        self._next[partition] = offset + 1
        self._batch.setdefault(partition, []).append(message)

    def _drop(self) -> None:
        """The polled records are not copied now, so they must be polled again. The callbacks have
        removed revoked partitions from the batch."""
        for partition, messages in self._batch.items():
            first = messages[0].offset()
            assert first is not None
            self._seek(partition, first)
        self._batch = {}

    def _copy(self, membership: bytes) -> None:
        self._transactions += 1
        aborts = self._transactions == ABORTED_FIRST or self._chance.random() < ABORT_SHARE
        try:
            journal("begin in vain" if aborts else "begin", {each: (m[0].offset(), m[-1].offset()) for each, m in self._batch.items()})
            self._producer.begin_transaction()
            for partition, messages in self._batch.items():
                for message in messages:
                    value = message.value()
                    assert value is not None
                    self._produce(partition, b"never " + value if aborts else value)
            offsets = [TopicPartition(INPUT, partition, self._next[partition]) for partition in self._batch]
            journal("send offsets", {each.partition: each.offset for each in offsets}, "as", parsed(membership))
            self._persist(self._producer.send_offsets_to_transaction, SEND_OFFSETS_SECONDS, offsets, membership)
            if aborts:
                self._abort()
            else:
                self._persist(self._producer.commit_transaction, END_SECONDS)
                journal("committed the transaction")
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                raise
            self._abort()

    def _produce(self, partition: int, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(OUTPUT, value, partition=partition % OUTPUT_PARTITIONS)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _abort(self) -> None:
        self._persist(self._producer.abort_transaction, END_SECONDS)
        journal("aborted the transaction")
        for partition, offset in self._committed(self._next).items():
            self._seek(partition, offset)

    def _seek(self, partition: int, offset: int) -> None:
        journal("seek", partition, offset)
        say(f"begin seek {SEEK_SECONDS}")
        self._consumer.seek(TopicPartition(INPUT, partition, offset))
        say("end")
        self._next[partition] = offset

    @staticmethod
    def _persist(call: Any, seconds: float, *arguments: Any) -> Any:
        while True:
            try:
                return called(call, seconds, *arguments)
            except KafkaException as failure:
                error = failure.args[0]
                if error.fatal() or error.txn_requires_abort() or not error.retriable() or call.__name__ in _ONCE:
                    raise


def starts(told: Iterable[tuple[int, int, KafkaError | None]]) -> dict[int, int] | None:
    """Where to continue, from partitions, committed offsets and errors: None if there is any error,
    because -1001 then means nothing."""
    found = {}
    for partition, offset, error in told:
        if error is not None:
            return None
        assert offset >= 0 or offset == OFFSET_INVALID, (partition, offset)
        found[partition] = max(offset, 0)
    return found


def parsed(metadata: bytes) -> tuple[int, str]:
    """Generation and member id, from the bytes that ``rd_kafka_consumer_group_metadata_write``
    produces."""
    magic = b"CGMDv2:"
    assert metadata.startswith(magic), metadata
    generation = int.from_bytes(metadata[len(magic) : len(magic) + 4], sys.byteorder, signed=True)
    _, member_id, _ = metadata[len(magic) + 4 :].split(b"\0", 2)
    return generation, member_id.decode()


def called(call: Any, seconds: float, *arguments: Any) -> Any:
    """Calls it with its limit as the last argument, where librdkafka's calls have it."""
    say(f"begin {call.__name__} {seconds}")
    try:
        return call(*arguments, seconds)
    except KafkaException as failure:
        journal(call.__name__, failure.args[0])
        raise
    finally:
        say("end")


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def journal(*words: object) -> None:
    sys.stderr.write(f"{time.time():.3f} {' '.join(map(str, words))}\n")
    sys.stderr.flush()


def main() -> None:
    # The test uses this signal to find out where a copier hangs.
    faulthandler.register(signal.SIGUSR1)
    try:
        Copier(*sys.argv[1:]).run()
    except KafkaException as failure:
        error = failure.args[0]
        journal("ends:", repr(error))
        code = FENCED if error.code() in _FENCING else 1
    except Astray as failure:
        journal("BROKEN:", failure)
        code = BROKEN
    # The process does not leave the group: a consumer whose group has moved on sometimes waits for
    # ever.
    os._exit(code)


if __name__ == "__main__":
    main()
