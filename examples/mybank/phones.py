"""The customers' phones: a reader of the topic of alerts, as it grows."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from examples.mybank.topics import ALERTS, PARTITIONS

_POLL_SECONDS = 0.2


@dataclass(slots=True)
class Phones:
    """Reads in its own thread until closed. Only committed alerts make a phone ring."""

    bootstrap: str
    times: Counter[int] = field(default_factory=Counter)  # The number of alerts by transaction.
    rang_at: dict[int, float] = field(default_factory=dict)  # The first alert, by transaction.
    last: dict[str, Any] = field(default_factory=dict)
    _closing: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def count(self) -> int:
        return self.times.total()

    def open(self) -> None:
        self._thread = threading.Thread(target=self._read, name="phones", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "phones",
                "isolation.level": "read_committed",
                # Only for people that look at the group's lag: the reader begins at the first
                # record all the same.
                "enable.auto.commit": True,
                "auto.commit.interval.ms": 1000,
                "log_level": 0,
            }
        )
        # One reader has all partitions from the beginning, so that it counts every record.
        consumer.assign([TopicPartition(ALERTS, index, 0) for index in range(PARTITIONS)])
        while not self._closing.is_set():
            try:
                messages = consumer.consume(500, timeout=_POLL_SECONDS)
            except KafkaException:
                continue  # A broker is away; the next one answers.
            for message in messages:
                if message.error() is None:
                    self.last = json.loads(message.value() or b"")
                    self.rang_at.setdefault(self.last["id"], time.perf_counter())
                    self.times[self.last["id"]] += 1
        consumer.close()
