"""librdkafka's share consumer on a node: deliveries, acknowledgements, locks, limits."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from barnabas.pipelines.redrive import redrive
from tests.conformance.sharing.conftest import QUIET, MakeGroup, MakeTopic, configure, fill
from tests.conformance.sharing.member import ACCEPT, REJECT, RELEASE, member
from tests.waiting import PATIENCE_SECONDS, until

RECORDS = 500
EXPLICIT = {"share_acknowledgement_mode": "explicit"}
# Reads a batch, says so, and holds it.
HOLDING = """
import sys, time
from confluent_kafka import ShareConsumer
consumer = ShareConsumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "log_level": 0})
consumer.subscribe([sys.argv[3]])
while not (messages := list(consumer.poll(1.0))):
    pass
print(len(messages), flush=True)
time.sleep(600)
"""


def test_every_record_reaches_one_of_several_members_once(bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup) -> None:
    topic, group = make_topic(4 * RECORDS, partitions=2), make_group()
    with ExitStack() as stack:
        members = [stack.enter_context(member(bootstrap, group, topic, max_poll_records=50)) for _ in range(4)]

        def all_numbers() -> list[int]:
            for each in members:
                each.poll(0.05)
            return sorted(number for each in members for number in each.numbers)

        until(lambda: len(all_numbers()) >= 4 * RECORDS, "all records are delivered", pause_seconds=0.001)
        assert all_numbers() == list(range(4 * RECORDS))
        assert all(count == 1 for each in members for _, count in each.got)


def test_records_that_a_member_accepted_are_not_delivered_to_the_next(bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup) -> None:
    topic, group = make_topic(RECORDS), make_group()
    with member(bootstrap, group, topic) as first:
        first.poll_until(lambda: len(first.got) >= RECORDS, "the first member gets all records")
        assert set(first.consumer.commit_sync(PATIENCE_SECONDS).values()) == {None}
    fill(bootstrap, topic, 1)
    with member(bootstrap, group, topic) as second:
        second.poll_until(lambda: bool(second.got), "the second member gets the new record")
        assert second.got == [(0, 1)]


def test_released_records_come_back_with_a_higher_count_and_rejected_ones_do_not(
    bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(30), make_group()

    def decide(number: int, count: int) -> object:
        return REJECT if number % 3 == 0 else RELEASE if number % 3 == 1 and count == 1 else ACCEPT

    with member(bootstrap, group, topic, **EXPLICIT) as one:
        one.poll_until(lambda: len(one.got) >= 40, "released records come back", decide)
        assert sorted(one.got) == sorted([*((n, 1) for n in range(30)), *((n, 2) for n in range(1, 30, 3))])


def test_a_record_is_delivered_as_often_as_the_limit_allows(bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup) -> None:
    topic, group = make_topic(1), make_group(share_delivery_count_limit="3")
    with member(bootstrap, group, topic, **EXPLICIT) as one:
        one.poll_until(lambda: len(one.got) >= 3, "the record is delivered three times", lambda number, count: RELEASE)
        fill(bootstrap, topic, 2)
        one.poll_until(lambda: (1, 1) in one.got, "the next records are delivered", lambda number, count: ACCEPT)
        assert sorted(one.got) == [(0, 1), (0, 1), (0, 2), (0, 3), (1, 1)]


def test_the_records_of_a_member_that_is_killed_go_to_another_at_once(bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup) -> None:
    topic, group = make_topic(RECORDS), make_group(share_record_lock_duration_ms="60000")
    with subprocess.Popen([sys.executable, "-c", HOLDING, bootstrap, group, topic], stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdout is not None
        held = int(holding.stdout.readline())
        holding.kill()
    with member(bootstrap, group, topic) as other:
        other.poll_until(lambda: len(set(other.numbers)) >= RECORDS, "the other member gets all records")
        # The locks last a minute, so the end of the connection released them.
        assert sum(count == 2 for _, count in other.got) >= held


def test_a_lock_that_ends_gives_the_record_to_another_member(bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup) -> None:
    topic, group = make_topic(10), make_group(share_record_lock_duration_ms="1500")
    with member(bootstrap, group, topic, **EXPLICIT) as slow, member(bootstrap, group, topic) as other:
        until(lambda: bool(slow.got) or bool(slow.poll()), "the slow member gets records", pause_seconds=0.001)
        other.poll_until(lambda: len(set(other.numbers) | set(slow.numbers)) == 10 and len(other.got) >= 10, "the locks end")
        assert {count for _, count in other.got} >= {2}


def test_a_released_record_stays_hidden_for_the_backoff(bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup) -> None:
    topic, group = make_topic(1), make_group(share_retry_backoff_ms="60000")
    with member(bootstrap, group, topic, **EXPLICIT) as one:
        one.poll_until(lambda: bool(one.got), "the record is delivered", lambda number, count: RELEASE)
        fill(bootstrap, topic, 3)
        one.poll_until(lambda: len(one.got) >= 4, "later records overtake it", lambda number, count: ACCEPT)
        assert all(count == 1 for _, count in one.got)


# -- dead letters ----------------------------------------------------------------------------------


def letters_of(bootstrap: str, topic: str, count: int) -> list[dict[str, str]]:
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "reader of letters", "auto.offset.reset": "earliest"})
    found: list[dict[str, str]] = []

    def read() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            headers: Any = dict(message.headers() or ())
            found.append({name: value.decode() for name, value in {**headers, "value": message.value() or b""}.items()})
        return len(found) >= count

    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        until(read, f"{count} dead letters are in {topic}", seen=lambda: found, pause_seconds=0.001)
    finally:
        consumer.close()
    return found


def test_a_rejected_record_becomes_a_dead_letter_that_redrive_sends_back(
    bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(3), make_group()
    letters = f"dlq.{group}"
    configure(bootstrap, group, {"errors.deadletterqueue.topic.name": letters, "errors.deadletterqueue.copy.record.enable": "true"})

    def decide(number: int, count: int) -> object:
        return REJECT if number == 1 else ACCEPT

    with member(bootstrap, group, topic, **EXPLICIT) as one:
        # The first rejection creates the topic, and is refused until it exists.
        one.poll_until(lambda: _is_there(bootstrap, letters), "the letter is written", decide)
        (letter, *_) = letters_of(bootstrap, letters, 1)
        assert letter["value"] == "1"
        assert (letter["__dlq.errors.topic"], letter["__dlq.errors.offset"], letter["__dlq.errors.group"]) == (topic, "1", group)
        assert redrive(bootstrap, letters).sent == {topic: 1}
        before = len(one.got)
        one.poll_until(lambda: len(one.got) > before, "the record comes back", lambda number, count: ACCEPT)
        assert one.numbers[-1] == 1


def _is_there(bootstrap: str, topic: str) -> bool:
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "watcher"})
    try:
        found = consumer.list_topics(timeout=PATIENCE_SECONDS).topics.get(topic)
        return found is not None and consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE_SECONDS)[1] > 0
    finally:
        consumer.close()
