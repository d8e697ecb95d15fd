"""``--share``: a member of a share group, which acknowledges the records that it printed.

A record is acknowledged only after it left this process: output is flushed first. A command that is
killed in between gets its records again, or another member does. Records that a filter drops are
acknowledged like those that are printed. Records that came beyond ``--max`` are released.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import BinaryIO

import typer
from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer, TopicPartition

from barnabas.cli.cluster.client import Message
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX
from barnabas.cli.consume.reading import PASSING_ERRORS, POLL_SECONDS, Keep, Limits, write_all
from barnabas.cli.consume.template import Render


class Acknowledgement(StrEnum):
    ACCEPT = "accept"
    RELEASE = "release"
    REJECT = "reject"


_TYPES = {
    Acknowledgement.ACCEPT: AcknowledgeType.ACCEPT,
    Acknowledgement.RELEASE: AcknowledgeType.RELEASE,
    Acknowledgement.REJECT: AcknowledgeType.REJECT,
}
# librdkafka's own default; a smaller --max fetches no more than it prints.
_RECORDS_AT_ONCE = 500


def share_settings(group: str, records_max: int | None) -> dict[str, object]:
    return {
        "group.id": group,
        "share.acknowledgement.mode": "explicit",
        "max.poll.records": min(records_max or _RECORDS_AT_ONCE, _RECORDS_AT_ONCE),
        "error_cb": lambda _: None,
    }


class ShareMembership:
    def __init__(self, consumer: ShareConsumer, acknowledgement: Acknowledgement, out: BinaryIO) -> None:
        self._consumer = consumer
        self._type = _TYPES[acknowledgement]
        self._out = out
        self._stopped = False

    def run(self, render: Render, keep: Keep | None, limits: Limits) -> None:
        """Print records until a limit is reached or a signal comes."""
        left, last_record = limits.records, time.monotonic()
        with self._stopped_by_signals():
            while not self._stopped and left != 0:
                records = [each for each in self._consumer.poll(POLL_SECONDS) if _is_record(each)]
                if records:
                    printed = self._print(records, render, keep, left)
                    left = None if left is None else left - printed
                    last_record = time.monotonic()
                elif limits.idle_seconds is not None and time.monotonic() - last_record >= limits.idle_seconds:
                    break

    def _print(self, records: list[Message], render: Render, keep: Keep | None, left: int | None) -> int:
        """The number of printed records."""
        lines: list[bytes] = []
        for message in records:
            if len(lines) == left:
                self._consumer.acknowledge(message, AcknowledgeType.RELEASE)
                continue
            if keep is None or keep(message):
                lines.append(render(message))
            self._consumer.acknowledge(message, self._type)
        write_all(self._out, b"".join(lines))
        self._out.flush()
        self._report(self._consumer.commit_sync(ANSWER_SECONDS_MAX))
        return len(lines)

    def _report(self, results: dict[TopicPartition, KafkaException | None]) -> None:
        """An acknowledgement may come too late: the lock on the record has ended, and another
        member gets it.
        """
        for partition, error in results.items():
            if error is not None:
                words = error.args[0].str()
                place = f"partition {partition.partition} of topic {partition.topic}"
                typer.echo(f"barnabas: Records of {place} were not acknowledged, and may come again: {words}", err=True)

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        """A signal ends the loop between two batches, when all records are acknowledged."""

        def stop(*_: object) -> None:
            if self._stopped:
                # The second signal is for output that nothing reads.
                raise KeyboardInterrupt
            self._stopped = True

        previous = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)


def _is_record(message: Message) -> bool:
    """Raises ``KafkaException`` for an error that does not pass."""
    error = message.error()
    if error is None:
        return True
    if error.code() not in PASSING_ERRORS:
        raise KafkaException(error)
    return False
