"""Workers for topics whose old records disappear: writers, and groups that come and go."""

from __future__ import annotations

import os
from itertools import count

from confluent_kafka import Consumer, KafkaException, Message
from confluent_kafka.admin import AdminClient

from tests.cluster.compacted_table import key_of
from tests.cluster.history import Operation, Outcome
from tests.cluster.workers import QUICK_CLIENT, IdempotentSender, Worker, polled
from tests.waiting import LONG_PATIENCE_SECONDS, PATIENCE_SECONDS, until

VALUE_BYTES = 900


class TableWriter(IdempotentSender):
    """Writes the keys of a table again and again."""

    SENDS_PER_SECOND = 200

    def record(self, value: int) -> tuple[bytes, bytes | None]:
        return b"%d" % value + b" " * VALUE_BYTES, b"%d" % key_of(value)


class Passers(Worker):
    """Groups that appear, read a record, and are deleted."""

    def begin(self) -> None:
        self._numbers = count()
        self._admin = AdminClient({**self.settings, **QUICK_CLIENT})

    def go_round(self) -> None:
        group = f"passer-{os.getpid()}-{next(self._numbers)}"
        consumer = Consumer(
            {**self.settings, "group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 6000, **QUICK_CLIENT}
        )
        consumer.subscribe(sorted({key.topic for key in self.keys}))
        read: list[Message] = []
        until(lambda: self._stop.is_set() or self._reads(consumer, read), f"{group} reads a record", seconds_max=LONG_PATIENCE_SECONDS)
        consumer.close()
        for deleted in self._admin.delete_consumer_groups([group]).values():
            try:
                deleted.result(PATIENCE_SECONDS)
            except KafkaException:
                # The coordinator moves, or the consumer could not leave: the group expires later.
                continue
        if read:
            self.history.add(Operation(self.process, Outcome.OK, tuple(map(polled, read))))

    @staticmethod
    def _reads(consumer: Consumer, read: list[Message]) -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            read.append(message)
        return bool(read)

    def end(self) -> None:
        """Every consumer is closed already."""
