"""Names for completion: the topics of the cluster, and the columns of those that are mentioned.

They are read while the user types, in a thread of the shell, with a client of their own. An error
leaves the names out: the query will report it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from barnabas.pipelines.sql.answering import TopicSql

# Names are read again after this time: topics come, and records get new fields.
FRESH_SECONDS = 30.0


class Catalog:
    def __init__(self, reader: Callable[[], TopicSql]) -> None:
        self._make_reader = reader
        self._reader: TopicSql | None = None
        self._lock = threading.Lock()
        self._found: dict[str, tuple[float, Any]] = {}

    def topics(self) -> list[str]:
        found: dict[str, int] = self._fresh("", lambda reader: reader.topics()) or {}
        return sorted(found)

    def columns(self, topic: str) -> list[str]:
        partitions: dict[str, int] = self._fresh("", lambda reader: reader.topics()) or {}
        if topic not in partitions:
            return []
        shape = self._fresh(topic, lambda reader: reader.shape(topic, partitions[topic]))
        return [] if shape is None else [name for name, _ in shape.columns]

    def close(self) -> None:
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def _fresh(self, name: str, read: Callable[[TopicSql], Any]) -> Any:
        with self._lock:
            at, found = self._found.get(name, (0.0, None))
            if found is not None and time.monotonic() - at < FRESH_SECONDS:
                return found
            with suppress(PipelineError, KafkaException):
                if self._reader is None:
                    self._reader = self._make_reader()
                found = read(self._reader)
                self._found[name] = (time.monotonic(), found)
            return found
