"""Share consumers of librdkafka in one process, which may die at any moment.

    share_member BOOTSTRAP GROUP TOPIC MODE NAME COUNT SEED JOURNAL LOCK_SECONDS

COUNT consumers run in threads of their own. In mode ``implicit`` the next poll acknowledges the
records of the last one. In mode ``explicit`` most records are accepted, some are released and a few
are rejected, and a batch in a hundred is held for longer than its lock. Confirmations come from the
acknowledgement callback. SIGTERM closes the consumers.

``ShareMember.java`` is the same program for the Java client, which can also renew locks.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer, TopicPartition

from tests.cluster.share_journal import ACCEPT, GOT, NO, REJECT, RELEASE, TRY, YES

POLL_SECONDS = 0.5
COMMIT_SECONDS_MAX = 10.0
# Of a hundred records.
RELEASED, REJECTED = 12, 3
# Of a hundred batches.
HELD_TOO_LONG = 1
KINDS = {ACCEPT: AcknowledgeType.ACCEPT, RELEASE: AcknowledgeType.RELEASE, REJECT: AcknowledgeType.REJECT}

stopping = threading.Event()


class Member:
    def __init__(
        self, name: str, *, settings: dict[str, str], topic: str, explicit: bool, seed: str, journal: Path, lock_seconds: float
    ) -> None:
        self._name = name
        self._topic = topic
        self._explicit = explicit
        self._chance = random.Random(f"{seed} {name}")
        self._lock_seconds = lock_seconds
        # Appends of one write each, so that the lines of several members do not mix.
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._consumer = ShareConsumer(settings | {"share.acknowledgement.mode": "explicit" if explicit else "implicit"})
        self._consumer.set_acknowledgement_commit_callback(self._acknowledged)

    def live(self) -> None:
        self._consumer.subscribe([self._topic])
        last: list[Message] = []
        while not stopping.is_set():
            if not self._explicit:
                self._write(TRY, last, ACCEPT)
            try:
                polled = list(self._consumer.poll(POLL_SECONDS))
            except KafkaException as error:
                self._say(f"poll: {error}")
                last = []
                continue
            last = [message for message in polled if message.error() is None]
            for message in polled:
                if message.error() is not None:
                    self._say(f"polled {message.error()}")
            self._write_lines([(GOT, message.partition(), message.offset(), message.delivery_count()) for message in last])
            if self._explicit and last:
                self._decide(last)
        # A close may acknowledge the last records.
        if not self._explicit:
            self._write(TRY, last, ACCEPT)
        self._consumer.close()

    def _decide(self, messages: list[Message]) -> None:
        if self._chance.randrange(100) < HELD_TOO_LONG:
            time.sleep(self._lock_seconds * 1.3)
        decided = [(message, self._decision()) for message in messages]
        self._write_lines([(TRY, message.partition(), message.offset(), kind) for message, kind in decided])
        for message, kind in decided:
            self._consumer.acknowledge(message, KINDS[kind])
        try:
            self._consumer.commit_sync(COMMIT_SECONDS_MAX)
        except KafkaException as error:
            self._say(f"commit: {error}")

    def _decision(self) -> str:
        number = self._chance.randrange(100)
        return REJECT if number < REJECTED else RELEASE if number < REJECTED + RELEASED else ACCEPT

    def _acknowledged(self, offsets: dict[TopicPartition, set[int]], error: KafkaException | None) -> None:
        verb, detail = (YES, "") if error is None else (NO, str(error).replace("\n", " "))
        self._write_lines([(verb, where.partition, offset, detail) for where, each in offsets.items() for offset in each])

    def _write(self, verb: str, messages: list[Message], detail: str) -> None:
        self._write_lines([(verb, message.partition(), message.offset(), detail) for message in messages])

    def _write_lines(self, lines: list[tuple[str, int | None, int | None, object]]) -> None:
        if lines:
            now = time.monotonic_ns()
            text = "".join(f"{now} {self._name} {verb} {partition} {offset} {detail}\n" for verb, partition, offset, detail in lines)
            os.write(self._journal, text.encode())

    def _say(self, what: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {self._name} {what}", file=sys.stderr, flush=True)


def end_process(failed: threading.ExceptHookArgs) -> None:
    """A member that fails would keep its partitions and consume nothing, and the test would wait
    for it. The process ends instead, with the reason in its log."""
    threading.__excepthook__(failed)
    os._exit(1)


def main() -> None:
    threading.excepthook = end_process
    bootstrap, group, topic, mode, name, count, seed, journal, lock_seconds = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    settings = {"bootstrap.servers": bootstrap, "group.id": group}
    members = [
        Member(
            f"{name}-{number}",
            settings=settings,
            topic=topic,
            explicit=mode != "implicit",
            seed=seed,
            journal=Path(journal),
            lock_seconds=float(lock_seconds),
        )
        for number in range(int(count))
    ]
    threads = [threading.Thread(target=member.live) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
