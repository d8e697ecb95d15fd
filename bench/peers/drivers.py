"""The load on a server, by a client that speaks its protocol.

Both drivers measure the same: a log of one partition, every record acknowledged by the server,
read from its beginning by a consumer that acknowledges nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition

from bench import programs
from bench.peers import builds
from bench.systems import Server
from bench.topics import new_topic

COUNT_SECONDS_MAX = 20.0
ASK_SECONDS_MAX = 5.0
TRY_AGAIN_SECONDS = 0.1
_streams = itertools.count(1)


class Driver(Protocol):
    def why_missing(self) -> str | None: ...

    def new_log(self, server: Server) -> AbstractContextManager[str]:
        """Yields the name of a topic or stream, which is deleted afterwards."""

    def run(self, command: str, server: Server, name: str, *, value_bytes: int, records: int) -> dict[str, float]:
        """``command`` is produce, consume or latency."""

    def count(self, server: Server, name: str) -> int:
        """The records that the server has, 0 if it does not know the name."""


@dataclass(frozen=True, slots=True)
class KafkaDriver:
    def why_missing(self) -> str | None:
        return programs.why_no_librdkafka_load()

    def new_log(self, server: Server) -> AbstractContextManager[str]:
        return new_topic(server, 1)

    def run(self, command: str, server: Server, name: str, *, value_bytes: int, records: int) -> dict[str, float]:
        return programs.librdkafka_load(
            command, bootstrap=server.bootstrap, topic=name, partitions=1, value_bytes=value_bytes, records=records
        )

    def count(self, server: Server, name: str) -> int:
        # A server that has just started may know the topic, and not serve it yet.
        consumer = Consumer({"bootstrap.servers": server.bootstrap, "group.id": "counting", "log_level": 0})
        deadline = time.monotonic() + COUNT_SECONDS_MAX
        try:
            while time.monotonic() < deadline:
                try:
                    low, high = consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=ASK_SECONDS_MAX)
                    if high > low:
                        return int(high - low)
                except KafkaException:
                    pass
                time.sleep(TRY_AGAIN_SECONDS)
            return 0
        finally:
            consumer.close()


@dataclass(frozen=True, slots=True)
class NatsDriver:
    storage: str

    def why_missing(self) -> str | None:
        return builds.why_missing(builds.NATS_LOAD)

    @contextmanager
    def new_log(self, server: Server) -> Iterator[str]:
        name = f"bench-{next(_streams)}"
        self._run("create", server, name, self.storage)
        try:
            yield name
        finally:
            self._run("delete", server, name)

    def run(self, command: str, server: Server, name: str, *, value_bytes: int, records: int) -> dict[str, float]:
        return self._run(command, server, name, str(value_bytes), str(records))

    def count(self, server: Server, name: str) -> int:
        return int(self._run("count", server, name)["records"])

    def _run(self, command: str, server: Server, name: str, *arguments: str) -> dict[str, float]:
        return programs.run_json([str(builds.NATS_LOAD.program), command, f"nats://{server.bootstrap}", name, *arguments])
