"""Records as confluent-kafka presents them."""

from __future__ import annotations

from dataclasses import dataclass, field

from confluent_kafka import TIMESTAMP_CREATE_TIME


@dataclass
class FakeMessage:
    value_: bytes | None = b"v"
    key_: bytes | None = b"k"
    headers_: list[tuple[str, bytes | None]] = field(default_factory=list)
    topic_: str = "orders"
    partition_: int = 3
    offset_: int = 17
    timestamp_: tuple[int, int] = (TIMESTAMP_CREATE_TIME, 1_751_371_200_000)

    def value(self) -> bytes | None:
        return self.value_

    def key(self) -> bytes | None:
        return self.key_

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.headers_ or None

    def topic(self) -> str:
        return self.topic_

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return self.offset_

    def timestamp(self) -> tuple[int, int]:
        return self.timestamp_
