"""A record that is not sent yet."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

# librdkafka chooses the partition, and takes the current time.
ANY_PARTITION = -1
NOW = 0

Header: TypeAlias = tuple[str, str | bytes | None]
Headers: TypeAlias = list[Header]


class Draft(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int = NOW
    partition: int = ANY_PARTITION


class Defaults(NamedTuple):
    """The options for all records. A record that has a key, a timestamp or a partition of its own
    keeps it; headers come before those of the record."""

    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    timestamp_ms: int = NOW
    partition: int = ANY_PARTITION

    def draft(self, value: bytes | None) -> Draft:
        return Draft(self.key, value, list(self.headers), self.timestamp_ms, self.partition)


NO_DEFAULTS = Defaults()
