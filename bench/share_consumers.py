"""confluent-kafka's share consumers, each in a thread of its own, empty a topic.

    python -m bench.share_consumers BOOTSTRAP TOPIC GROUP CONSUMERS MODE RECORDS

The same as ``ShareConsumers.java``: in mode explicit each record is accepted by a call of its own,
the next poll sends the acknowledgements in both modes, and the clock starts with the first records.
Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer, TopicPartition

PATIENCE_SECONDS = 100.0
POLL_SECONDS = 0.1


class Counts:
    """What all consumers did, and when the last of it happened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.started = 0.0
        self.delivered = 0
        self.delivered_at = 0.0
        self.acknowledged = 0
        self.acknowledged_at = 0.0
        self.failure = ""

    def deliver(self, count: int) -> None:
        now = time.perf_counter()
        with self._lock:
            if not self.started:
                # The first records only start the clock.
                self.started = now
                return
            self.delivered += count
            self.delivered_at = now

    def acknowledge(self, offsets: dict[TopicPartition, set[int]], error: KafkaException | None) -> None:
        now = time.perf_counter()
        with self._lock:
            if error is not None:
                self.failure = str(error)
            self.acknowledged += sum(map(len, offsets.values()))
            self.acknowledged_at = now


def consume(counts: Counts, settings: dict[str, str], topic: str, wanted: int) -> None:
    explicit = settings["share.acknowledgement.mode"] == "explicit"
    consumer = ShareConsumer(settings)
    consumer.set_acknowledgement_commit_callback(counts.acknowledge)
    consumer.subscribe([topic])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while counts.acknowledged < wanted and not counts.failure and time.monotonic() < deadline:
        messages = [message for message in consumer.poll(POLL_SECONDS) if message.error() is None]
        if not messages:
            continue
        if explicit:
            for message in messages:
                consumer.acknowledge(message, AcknowledgeType.ACCEPT)
        counts.deliver(len(messages))
    consumer.close()


def main() -> None:
    bootstrap, topic, group, consumers, mode, records = sys.argv[1:]
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "share.acknowledgement.mode": mode}
    counts, wanted = Counts(), int(records)
    threads = [threading.Thread(target=consume, args=(counts, settings, topic, wanted)) for _ in range(int(consumers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if counts.failure or counts.acknowledged < wanted:
        sys.exit(counts.failure or f"{counts.acknowledged} of {wanted} records were acknowledged")
    took = {
        "records": counts.delivered,
        "seconds": counts.delivered_at - counts.started,
        "acknowledged": counts.acknowledged,
        "acknowledged_seconds": counts.acknowledged_at - counts.started,
    }
    print(json.dumps(took))


if __name__ == "__main__":
    main()
