"""A driver runs for weeks, so it must not keep a client for each request it ever made."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from confluent_kafka import Consumer

from barnabas.pipelines import Pipeline
from barnabas.pipelines.redrive import redrive
from barnabas.pipelines.running.heartbeat import heartbeats
from barnabas.pipelines.running.runner import start
from barnabas.pipelines.running.status import status_of
from barnabas.pipelines.running.watching import watching
from tests.pipelines.open_clients import librdkafka_threads, no_client_stays_open, sockets
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 3
BATCHES = 12
# Spark passes rows over a new socket each time, which is closed when they are read.
SOCKETS_COMING_AND_GOING = 4


def test_threads_of_clients_are_counted(topics: Topics) -> None:
    with no_client_stays_open():
        consumer = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": "counted"})
        assert len(librdkafka_threads()) > 0
        consumer.close()


def test_pipelines_status_and_redrive_leave_no_client_open(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    numbers, out, bad = topics.create("numbers"), topics.create("out"), topics.create("bad")
    made = Pipeline("closing", bootstrap=topics.bootstrap).source("s", topic=numbers, schema="n INT", dead_letters={"topic": bad})
    pipelines = [made.sink("out", from_="s", topic=out).declaration()]
    # The collector would close forgotten clients in cycles; when that happens is up to chance.
    gc.collect()
    gc.disable()
    try:
        with no_client_stays_open():
            for number in range(ROUNDS):
                topics.send(numbers, [{"n": number}, b"bad"])
                # As a process does: with heartbeats and the progress topic, here on the session of
                # the tests.
                with heartbeats(pipelines, checkpoint) as heart:
                    run = start(pipelines, spark, checkpoint=checkpoint, available_now=True)
                    heart.running()
                    with watching(pipelines, run) as observers:
                        run.wait(observers)
                    run.stop()
                assert [each.state for each in status_of(pipelines[0], checkpoint)] == ["ended", "ended"]
                assert redrive(topics.bootstrap, bad).total > 0
    finally:
        gc.enable()
    assert [row["n"] for row in topics.values(out)] == list(range(ROUNDS))


def test_sockets_of_a_driver_do_not_grow_with_its_batches(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    numbers, out = topics.create("numbers"), topics.create("out")
    topics.send(numbers, [{"n": number} for number in range(BATCHES)])
    made = Pipeline("long", bootstrap=topics.bootstrap).source("s", topic=numbers, schema="n INT", rate=1, dead_letters={"topic": out})
    run = start([made.sink("out", from_="s", topic=out).declaration()], spark, checkpoint=checkpoint, available_now=True)
    open_after: list[int] = []
    try:
        run.wait([lambda _: open_after.append(sockets())])
    finally:
        run.stop()
    half = BATCHES  # of two queries
    assert len(open_after) >= 2 * half
    assert max(open_after[half:]) <= max(open_after[:half]) + SOCKETS_COMING_AND_GOING, open_after
