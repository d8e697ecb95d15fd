"""The loop from the consumer to the output.

Records come in batches of whatever librdkafka has fetched. Output is flushed before every wait, so
that its reader sees all records there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException

from barnabas.cli.cluster.client import PARTITION_EOF, Message
from barnabas.cli.consume.assigned import BoundedPartitions, FollowedPartitions
from barnabas.cli.consume.membership import Membership
from barnabas.cli.consume.template import Render

# How long it may take to notice a signal or --timeout.
POLL_SECONDS = 0.2
# Large enough that the call costs little per record, small enough that the first lines show soon.
_RECORDS_AT_ONCE = 1000
# Errors that librdkafka reports while it keeps trying. A consumer whose output is read too slowly
# leaves its group and joins again with the next poll.
PASSING_ERRORS = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._RESOLVE,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._MAX_POLL_EXCEEDED,  # noqa: SLF001
    }
)

Source: TypeAlias = BoundedPartitions | FollowedPartitions | Membership
Keep: TypeAlias = Callable[[Message], bool]


@dataclass(frozen=True, slots=True)
class Limits:
    """The conditions that end the reading besides the source's; None where there is none."""

    records: int | None = None
    idle_seconds: float | None = None


class RecordPrinter:
    """Prints the records that the source accepts and the filter keeps."""

    def __init__(self, out: BinaryIO, render: Render, keep: Keep | None, source: Source, limits: Limits) -> None:
        self._out = out
        self._flush = out.flush
        self._render = render
        self._keep = keep
        self._source = source
        self._accepts = source.accepts
        self._printed = source.printed if isinstance(source, Membership) else None
        self._limits = limits
        self._left = limits.records  # the number of records that may still be printed

    def run(self, consumer: Consumer) -> None:
        last_record = time.monotonic()
        while self._left != 0 and not self._source.finished:
            batch = consumer.consume(_RECORDS_AT_ONCE, 0)
            if not batch:
                self._flush()
                self._source.idle()
                message = consumer.poll(POLL_SECONDS)
                batch = [] if message is None else [message]
            if self._print(batch):
                last_record = time.monotonic()
            elif self._limits.idle_seconds is not None and time.monotonic() - last_record >= self._limits.idle_seconds:
                break
            if isinstance(self._source, Membership):
                self._source.between_batches()
        self._flush()

    def _print(self, batch: list[Message]) -> bool:
        """Whether the batch has a record. An error of one record comes after the output of those
        before it."""
        lines: list[bytes] = []
        done: list[Message] = []
        try:
            return self._render_all(batch, lines, done)
        finally:
            # One write, since standard output may have no buffer of its own (PYTHONUNBUFFERED).
            write_all(self._out, b"".join(lines))
            if self._printed is not None:
                for message in done:
                    self._printed(message)
            if self._left is not None:
                self._left -= len(lines)

    def _render_all(self, batch: list[Message], lines: list[bytes], done: list[Message]) -> bool:
        """Adds to ``lines`` the printed records, and to ``done`` also those that the filter
        drops."""
        render, keep, accepts, left = self._render, self._keep, self._accepts, self._left
        records = False
        for message in batch:
            if message.error() is not None:
                self._heed(message)
                continue
            records = True
            if accepts is not None and not accepts(message):
                continue
            if keep is None or keep(message):
                lines.append(render(message))
            done.append(message)
            if len(lines) == left:
                break
        return records

    def _heed(self, message: Message) -> None:
        error = message.error()
        if error.code() == PARTITION_EOF:
            self._source.at_end(message.topic(), message.partition())
        elif error.code() not in PASSING_ERRORS:
            raise KafkaException(error)


def write_all(out: BinaryIO, data: bytes) -> None:
    """Without a buffer a signal may end a write in the middle."""
    left = memoryview(data)
    while left:
        left = left[out.write(left) or 0 :]
