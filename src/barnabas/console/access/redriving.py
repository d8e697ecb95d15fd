"""Sends dead letters to their topics again, at a rate, each in a transaction with the note that it
was sent.

One redrive of a topic runs at a time: they share a transactional id with ``barnabas pipelines
redrive``, so a second one fences the first, and no letter is sent twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaException, Producer

from barnabas.administration.dead_letter import POSITIONS_TOPIC_CONFIG, Position, encode, group_of, positions_topic_of
from barnabas.client_settings.bearer_token import for_librdkafka_client
from barnabas.client_settings.errors import SettingsRefused
from barnabas.console.access import topic_changes
from barnabas.console.access.catalog import topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.dead_letters import read_all, sent_positions
from barnabas.console.access.producing import silent_logger
from barnabas.console.core.dead_letters import RedrivePlan, letters_of
from barnabas.console.core.record import ReadRecord
from barnabas.console.core.record_request import NewRecord
from barnabas.console.core.topic import Topic
from barnabas.console.errors import BadValue, ClusterRefused, ConsoleError, NotFound

# Letters in one transaction: few enough to finish before its timeout.
BATCH_RECORDS_MAX: Final = 500
# Letters a second.
RATE_MAX: Final = 10_000
ANSWER_SECONDS: Final = 30.0
# Redrives that the pages remember, running ones included.
JOBS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Outgoing:
    topic: str
    record: NewRecord
    position: Position


@dataclass(slots=True)
class RedriveJob:
    dead_letters: str
    total: int
    """Letters of the plan."""
    rate: int
    sent: int = 0
    state: str = "running"
    """running, done, stopped or failed."""
    error: str = ""
    stops: bool = field(default=False, repr=False)


class RedriveJobs:
    """The redrives of one principal, by their topics."""

    def __init__(self) -> None:
        self._jobs: dict[str, RedriveJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def find(self, dead_letters: str) -> RedriveJob | None:
        return self._jobs.get(dead_letters)

    def stop(self, dead_letters: str) -> None:
        found = self._jobs.get(dead_letters)
        if found is None or found.state != "running":
            raise NotFound(f"No redrive of {dead_letters} is running.")
        found.stops = True

    def start(
        self,
        client: ClusterClient,
        found: Topic,
        plan: RedrivePlan,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        *,
        rate: int,
        total: int,
    ) -> None:
        running = self._jobs.get(found.name)
        if running is not None and running.state == "running":
            raise BadValue(f"A redrive of {found.name} is running already.")
        if len(self._jobs) >= JOBS_MAX:
            over = next((name for name, each in self._jobs.items() if each.state != "running"), None)
            if over is None:
                raise BadValue(f"{JOBS_MAX} redrives are running already.")
            del self._jobs[over]
        job = self._jobs[found.name] = RedriveJob(found.name, total, rate)
        task = asyncio.get_running_loop().create_task(_run(client, found, plan, starts, ends, job))
        # The loop itself keeps no reference to a task.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _run(
    client: ClusterClient, found: Topic, plan: RedrivePlan, starts: Mapping[int, int], ends: Mapping[int, int], job: RedriveJob
) -> None:
    try:
        await ensure_positions_topic(client, found.name)
        producer = await client.run(open_producer, client, found.name)
        # Read again after the producer, which has ended the transaction of any other redrive.
        plan.sent |= await sent_positions(client, found.name)
        began = time.monotonic()
        async for part in read_all(client, found, starts, ends):
            waiting = _outgoing(plan, part.records)
            size = max(1, min(BATCH_RECORDS_MAX, job.rate))
            for first in range(0, len(waiting), size):
                if job.stops or client.is_closed:
                    job.state = "stopped"
                    return
                batch = waiting[first : first + size]
                await client.run(send_batch, producer, found.name, batch)
                job.sent += len(batch)
                await asyncio.sleep(max(0.0, began + job.sent / job.rate - time.monotonic()))
        job.state = "done"
    except ConsoleError as error:
        job.state, job.error = "failed", error.sentence
    except BaseException:
        job.state, job.error = "failed", "The redrive ended unexpectedly."
        raise


def _outgoing(plan: RedrivePlan, records: Iterable[ReadRecord]) -> list[Outgoing]:
    taken = plan.take(letters_of(records))
    return [Outgoing(position.topic, each.again(), position) for each in taken if (position := each.origin.position) is not None]


async def ensure_positions_topic(client: ClusterClient, dead_letters: str) -> None:
    try:
        await topic(client, positions_topic_of(dead_letters))
    except NotFound:
        await topic_changes.create(client, positions_topic_of(dead_letters), 1, None, POSITIONS_TOPIC_CONFIG)


def open_producer(client: ClusterClient, dead_letters: str) -> Producer:
    """Blocks. Raises :class:`ClusterRefused`."""
    try:
        producer = Producer(
            {
                **for_librdkafka_client(client.properties),
                "bootstrap.servers": client.settings.bootstrap,
                "client.id": "barnabas-console",
                "partitioner": "murmur2_random",
                "transactional.id": group_of(dead_letters),
                "message.max.bytes": 64 * 1024 * 1024,
                "logger": silent_logger(),
            }
        )
        producer.init_transactions(ANSWER_SECONDS)
    except (KafkaException, SettingsRefused, TypeError, ValueError) as error:
        raise ClusterRefused(f"The redrive of {dead_letters} cannot begin: {_words(error)}.") from error
    return producer


def send_batch(producer: Producer, dead_letters: str, batch: list[Outgoing]) -> None:
    """One transaction: all letters and their note, or none. Blocks."""
    try:
        producer.begin_transaction()
        for each in batch:
            headers: Any = each.record.headers or None
            producer.produce(each.topic, each.record.value, each.record.key, headers=headers)
        producer.produce(positions_topic_of(dead_letters), encode(each.position for each in batch))
        producer.commit_transaction(ANSWER_SECONDS)
    except (KafkaException, BufferError) as error:
        raise ClusterRefused(f"The redrive of {dead_letters} ended before it was complete: {_words(error)}.") from error


def _words(error: BaseException) -> str:
    first = error.args[0] if error.args else error
    return str(first.str() if hasattr(first, "str") else first).rstrip(".")
