"""Consume, transform, produce: a program that copies ``input`` to ``output``, each record once, and may die at any moment.

    python -m tests.cluster.copier BOOTSTRAP TRANSACTIONAL_ID INSTANCE_ID GROUP_PROTOCOL SEED

It prints ``ready`` when its producer has fenced whoever had the transactional id before. Now and then it aborts a transaction on
purpose, and what it writes into such a one begins with ``never``. It ends with :data:`FENCED` when somebody else has taken its place.

``Copier.java`` is the same program for the Java client.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
from typing import Any, NoReturn

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

INPUT, OUTPUT, GROUP = "input", "output", "copiers"
OUTPUT_PARTITIONS = 2
FENCED = 3
BATCH_MAX = 100
ABORT_SHARE = 0.15
# A transaction left behind by a copier that is not started again ends by itself after this.
TRANSACTION_TIMEOUT_MS = 10_000
SESSION_TIMEOUT_MS = 2_000

_FENCING = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError._FATAL,
}
_QUICK = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 20,
    "log_level": 2,
    # A producer of librdkafka 2.16 that bootstraps anew while send_offsets_to_transaction waits loses that request, and waits for ever.
    "metadata.recovery.strategy": "none",
}

# What is not done in its time will never be: librdkafka 2.16 can lose the request while coordinators move, and waits on. An application
# would be started anew, and so is this.
_LOST_WHEN_LATE = frozenset({"send_offsets_to_transaction"})


class Copier:
    def __init__(self, bootstrap: str, transactional_id: str, instance_id: str, protocol: str, seed: str) -> None:
        self._chance = random.Random(seed)
        self._batch: dict[int, list[Message]] = {}
        classic = {"session.timeout.ms": SESSION_TIMEOUT_MS, "heartbeat.interval.ms": 200} if protocol == "classic" else {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "group.protocol": protocol,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **({"group.instance.id": instance_id} if instance_id else {}),
                **classic,
                **_QUICK,
            }
        )
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "linger.ms": 1,
                **_QUICK,
            }
        )

    def run(self) -> NoReturn:
        self._persist(self._producer.init_transactions, 30)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        self._consumer.subscribe([INPUT], on_assign=self._changed, on_revoke=self._changed, on_lost=self._changed)
        while True:
            self._collect()
            if any(self._batch.values()):
                self._copy()

    def _changed(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """What was read of a partition before it changed hands is not for us to copy."""
        for each in partitions:
            self._batch.pop(each.partition, None)

    def _collect(self) -> None:
        self._batch = {}
        patience = 0.2
        while sum(map(len, self._batch.values())) < BATCH_MAX:
            message = self._consumer.poll(patience)
            if message is None:
                return
            error = message.error()
            if error is not None:
                if error.code() in _FENCING or error.fatal():
                    raise KafkaException(error)
                continue
            partition = message.partition()
            assert partition is not None
            self._batch.setdefault(partition, []).append(message)
            patience = 0.005

    def _copy(self) -> None:
        in_vain = self._chance.random() < ABORT_SHARE
        try:
            self._producer.begin_transaction()
            for partition, messages in self._batch.items():
                for message in messages:
                    value = message.value()
                    assert value is not None
                    self._produce(partition, b"never " + value if in_vain else value)
            offsets = [TopicPartition(INPUT, partition, messages[-1].offset() + 1) for partition, messages in self._batch.items()]  # type: ignore[operator]
            self._persist(self._producer.send_offsets_to_transaction, offsets, self._consumer.consumer_group_metadata(), 20)
            if in_vain:
                self._abort()
            else:
                self._persist(self._producer.commit_transaction, 30)
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
        self._persist(self._producer.abort_transaction, 30)
        held = self._consumer.assignment()
        committed = self._persist(self._consumer.committed, held, 10)
        for each in committed:
            self._consumer.seek(TopicPartition(INPUT, each.partition, max(each.offset, 0)))

    @staticmethod
    def _persist(call: Any, *arguments: Any) -> Any:
        while True:
            try:
                return call(*arguments)
            except KafkaException as failure:
                error = failure.args[0]
                sys.stderr.write(f"{call.__name__}: {error!r}\n")
                if error.fatal() or error.txn_requires_abort() or not error.retriable() or call.__name__ in _LOST_WHEN_LATE:
                    raise


def main() -> None:
    # Whoever finds it stuck may ask where.
    faulthandler.register(signal.SIGUSR1)
    try:
        Copier(*sys.argv[1:]).run()
    except KafkaException as failure:
        error = failure.args[0]
        sys.stderr.write(f"{error!r}\n")
        sys.stderr.flush()
        # Without saying goodbye to the group, for which a consumer whose group moved on sometimes waits for ever.
        os._exit(FENCED if error.code() in _FENCING else 1)


if __name__ == "__main__":
    main()
