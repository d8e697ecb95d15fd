"""Groups that appear, read a record, and are deleted.

They are deleted without librdkafka's admin client, which aborts the process when the group's
coordinator goes away during a request (2.16). The hour of mixed load ended that way::

    rdkafka_queue.h: rd_kafka_enq_once_del_source_return: Assertion `eonce->refcnt > 0' failed.
"""

from __future__ import annotations

import os
from itertools import count

from confluent_kafka import Consumer, Message

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from tests.cluster.access import Access
from tests.cluster.asking import ask_coordinator
from tests.cluster.history import Operation, Outcome
from tests.cluster.workers import QUICK_CLIENT, Worker, polled
from tests.waiting import LONG_PATIENCE_SECONDS, until

# The coordinator moves, or the consumer could not leave: the group expires later. A deletion whose
# answer was lost has happened.
_EXPECTED = (
    ErrorCode.NONE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NON_EMPTY_GROUP,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


class Passers(Worker):
    def begin(self) -> None:
        self._access = Access(self.settings["bootstrap.servers"])
        self._numbers = count()

    def go_round(self) -> None:
        group = f"passer-{os.getpid()}-{next(self._numbers)}"
        settings = {"group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 6000, **QUICK_CLIENT}
        consumer = Consumer({**self.settings, **settings})
        consumer.subscribe(sorted({key.topic for key in self.keys}))
        read: list[Message] = []
        until(lambda: self._stop.is_set() or self._reads(consumer, read), f"{group} reads a record", seconds_max=LONG_PATIENCE_SECONDS)
        consumer.close()
        self._delete(group)
        if read:
            self.history.add(Operation(self.process, Outcome.OK, tuple(map(polled, read))))

    @staticmethod
    def _reads(consumer: Consumer, read: list[Message]) -> bool:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            read.append(message)
        return bool(read)

    def _delete(self, group: str) -> None:
        answer = ask_coordinator(self._access, group, DeleteGroupsRequest(groups_names=[group]))
        assert answer is None or answer.results[0].error_code in _EXPECTED, answer

    def end(self) -> None:
        """Every consumer is closed already."""
