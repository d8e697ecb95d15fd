"""Dead letters of a batch that runs twice, and redrives of repeated letters."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from barnabas.administration.dead_letter import Position, decode, encode, positions_topic_of
from barnabas.pipelines import Pipeline
from barnabas.pipelines.redrive import Selection, redrive
from barnabas.pipelines.redriven_positions import Positions
from tests.pipelines.topics import Topics
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def letter(topics: Topics, bad: str, payments: str, offset: int, *, timestamp: int = 1000, reason: str = "no JSON") -> None:
    told = {"reason": reason, "topic": payments, "partition": "0", "offset": str(offset), "timestamp": str(timestamp)}
    headers = {f"barnabas.dead_letter.{name}": value.encode() for name, value in told.items()}
    topics.send_record(bad, None, f"value {offset}".encode(), headers)


def values(topics: Topics, name: str) -> list[bytes | None]:
    return [each.value for each in topics.read(name)]


@pytest.mark.parametrize(("guarantee", "letters_each"), [("exactly_once", 1), ("at_least_once", 2)])
def test_exactly_once_letters_of_a_batch_that_runs_again_are_written_once(
    spark: SparkSession, topics: Topics, checkpoint: str, guarantee: str, letters_each: int
) -> None:
    payments, good, bad = topics.create("payments", partitions=2), topics.create("good"), topics.create("bad", partitions=2)
    topics.send(payments, [b"bad %d" % each if each % 3 == 0 else {"amount": each} for each in range(30)])
    pipeline = (
        Pipeline("careful", bootstrap=topics.bootstrap)
        .source("payments", topic=payments, schema="amount INT", dead_letters={"topic": bad, "guarantee": guarantee})
        .sink("out", from_="payments", topic=good)
    )
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    for part in ("out", "payments.dead_letters"):
        # As if the driver had died between the batch and its record of it.
        for path in Path(checkpoint, "careful", part, "commits").glob("*0*"):
            path.unlink()
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)

    bad_values = [b"bad %d" % each for each in range(0, 30, 3)]
    assert Counter(values(topics, bad)) == dict.fromkeys(bad_values, letters_each)
    assert sorted(each["amount"] for each in topics.values(good)) == [each for each in range(30) if each % 3]

    done = redrive(topics.bootstrap, bad)
    assert (done.total, done.left, done.repeats) == (10, 0, 10 * (letters_each - 1))
    again = [each.value for each in topics.read(payments) if "barnabas.redriven" in each.headers]
    assert Counter(again) == dict.fromkeys(bad_values, 1)


def test_repeats_beyond_an_earlier_redrive_are_not_sent_either(topics: Topics) -> None:
    payments, bad = topics.create("payments"), topics.create("bad", partitions=3)
    for offset in (1, 2, 1):
        letter(topics, bad, payments, offset)
    first = redrive(topics.bootstrap, bad)
    assert (first.total, first.left, first.repeats) == (2, 0, 1)
    for offset in (2, 3, 1):
        letter(topics, bad, payments, offset)
    would = redrive(topics.bootstrap, bad, dry_run=True)
    assert (would.total, would.repeats) == (1, 2)
    second = redrive(topics.bootstrap, bad)
    assert (second.total, second.left, second.repeats) == (1, 0, 2)
    assert sorted(filter(None, values(topics, payments))) == [b"value 1", b"value 2", b"value 3"]
    letter(topics, bad, payments, 1, timestamp=2000)
    assert redrive(topics.bootstrap, bad).total == 1, "another record has the offset, since the topic was deleted and made anew"
    assert len(topics.read(positions_topic_of(bad))) == 3, "one record for each transaction that sent something"


def test_a_letter_that_a_filter_skips_is_kept_once_and_sent_later(topics: Topics) -> None:
    payments, bad = topics.create("payments"), topics.create("bad")
    for offset in (1, 2, 1):
        letter(topics, bad, payments, offset)
    nothing = Selection(topic="another")
    left = redrive(topics.bootstrap, bad, selection=nothing)
    assert (left.total, left.left, left.repeats) == (0, 2, 1)
    letter(topics, bad, payments, 2)
    left = redrive(topics.bootstrap, bad, selection=nothing)
    assert (left.total, left.left, left.repeats) == (0, 2, 1)
    sent = redrive(topics.bootstrap, bad)
    assert (sent.total, sent.left, sent.repeats) == (2, 0, 0)


def test_a_redrive_does_not_wait_for_uncommitted_letters(topics: Topics) -> None:
    payments, bad = topics.create("payments"), topics.create("bad")
    letter(topics, bad, payments, 1)
    with closing(Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": bad})) as writing:
        writing.init_transactions(PATIENCE_SECONDS)
        writing.begin_transaction()
        writing.produce(bad, b"not committed")
        assert writing.flush(PATIENCE_SECONDS) == 0
        done = redrive(topics.bootstrap, bad)
        assert (done.total, done.left) == (1, 0)


def test_positions_forget_their_older_half_when_they_are_full() -> None:
    positions = Positions(limit=10)
    every = [Position("t", 0, offset, None) for offset in range(15)]
    assert all(positions.add(each) for each in every)
    assert positions.forgotten == 5
    assert not any(positions.add(each) for each in every[5:])
    assert positions.add(every[0])


def test_positions_are_read_as_they_were_written() -> None:
    every = [Position("a", 1, 2, 3), Position("b", 4, 5, None), Position("a", 1, 3, -1)]
    assert sorted(decode(encode(every)), key=str) == sorted(every, key=str)
