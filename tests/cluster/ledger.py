"""Compares the sends of producers and their acknowledgements with the log.

Values count up per partition. Kafka promises about them, for one broker that dies and comes back:

- a value whose send was acknowledged stays at the acknowledged offset for ever;
- with idempotence every value is there once, in the order of sending;
- without it a value may be there again (its first response was lost and it was sent again), but
  first appearances are in order.
"""

from __future__ import annotations

import threading
from collections import defaultdict

from confluent_kafka import KafkaError, Message, Producer

from tests.scenarios.client import Client, records_in

# Segments have at least a megabyte: values of this size fill one in a few hundred sends, so that
# kills also hit rolls.
VALUE_BYTES = 2000


def value_of(number: int) -> bytes:
    return b"%012d" % number + bytes(VALUE_BYTES - 12)


def number_in(value: bytes | None) -> int:
    assert value is not None
    assert len(value) == VALUE_BYTES
    return int(value[:12])


class Ledger:
    def __init__(self, topic: str, partitions: int, *, exactly_once: bool) -> None:
        self.topic = topic
        self.partitions = partitions
        self._exactly_once = exactly_once
        self._lock = threading.Lock()
        self.sent: dict[int, int] = defaultdict(int)
        # By partition: offset to number.
        self.acknowledged: dict[int, dict[int, int]] = defaultdict(dict)
        self.errors: list[str] = []
        self._logs: dict[int, list[int]] = defaultdict(list)

    # -- sending ------------------------------------------------------------------------------

    def send(self, producer: Producer, partition: int) -> None:
        """Raises ``BufferError`` when the producer has no room; nothing was sent then."""
        number = self.sent[partition]

        def delivered(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            with self._lock:
                if error is not None or offset is None:
                    self.errors.append(f"{partition}/{number}: {error}")
                else:
                    self.acknowledged[partition][offset] = number

        producer.produce(self.topic, value_of(number), partition=partition, on_delivery=delivered)
        self.sent[partition] += 1

    def acknowledged_count(self) -> int:
        with self._lock:
            return sum(map(len, self.acknowledged.values()))

    # -- checking -----------------------------------------------------------------------------

    def check(self, bootstrap: str, *, from_the_start: bool = True) -> None:
        """Checks all of these promises for everything acknowledged before the call."""
        with self._lock:
            told = {partition: dict(offsets) for partition, offsets in self.acknowledged.items()}
        with Client(bootstrap) as client:
            for partition in range(self.partitions):
                if from_the_start:
                    self._logs[partition].clear()
                self._read_on(client, partition)
                self._check_partition(partition, told.get(partition, {}))

    def _read_on(self, client: Client, partition: int) -> None:
        log = self._logs[partition]
        while True:
            answer = client.fetch(self.topic, partition, len(log), partition_max_bytes=1 << 20)
            assert answer.error_code == 0, answer
            records = [record for record in records_in(answer.records) if record.offset >= len(log)]
            if not records:
                return
            assert [record.offset for record in records] == list(range(len(log), len(log) + len(records)))
            log += [number_in(record.value) for record in records]

    def _check_partition(self, partition: int, told: dict[int, int]) -> None:
        log = self._logs[partition]
        where = f"{self.topic}-{partition}"
        for offset, number in told.items():
            assert offset < len(log), f"{where}: {number} was acknowledged at {offset}, and the log ends at {len(log)}"
            assert log[offset] == number, f"{where}: {number} was acknowledged at {offset}, where {log[offset]} is"
        firsts = list(dict.fromkeys(log))
        assert firsts == list(range(len(firsts))), f"{where}: values are missing or out of order"
        if self._exactly_once:
            assert len(firsts) == len(log), f"{where}: {len(log) - len(firsts)} values are there twice"

    def check_complete(self) -> None:
        """Every value that was sent was delivered in the end, and is in the log."""
        assert not self.errors, self.errors[:5]
        for partition in range(self.partitions):
            assert len(set(self._logs[partition])) == self.sent[partition]
