"""A member of a share group: librdkafka's share consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import AcknowledgeType, ShareConsumer

from tests.conformance.sharing.conftest import QUIET
from tests.waiting import until

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


class Member:
    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.consumer = ShareConsumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group, **settings})
        self.consumer.subscribe([topic])
        self.got: list[tuple[int, int]] = []

    def poll(self, seconds: float = 0.2) -> list[Any]:
        """The messages of one poll, each remembered with its number and its delivery count."""
        found = []
        for message in self.consumer.poll(seconds):
            assert message.error() is None, message.error()
            self.got.append((int(message.value() or b""), message.delivery_count() or 0))
            found.append(message)
        return found

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.got]

    def poll_until(self, holds: Callable[[], bool], what: str, decide: Callable[[int, int], Any] | None = None) -> None:
        """``decide`` gets the number and the delivery count of each record, and returns its
        acknowledgement."""

        def done() -> bool:
            messages = self.poll()
            if decide is not None:
                for message in messages:
                    self.consumer.acknowledge(message, decide(int(message.value()), message.delivery_count()))
                if messages:
                    self.consumer.commit_sync(30)
            return holds()

        until(done, what, seen=lambda: len(self.got), pause_seconds=0.001)


@contextmanager
def member(bootstrap: str, group: str, topic: str, **settings: Any) -> Iterator[Member]:
    made = Member(bootstrap, group, topic, **settings)
    try:
        yield made
    finally:
        made.consumer.close()
