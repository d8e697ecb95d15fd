"""Dead letters: records that failed, with their origin and the reason in headers.

Pipelines and share groups (KIP-1191) write different headers; this module reads both.

of a pipeline                        of a share group
==================================   ======================================
``barnabas.dead_letter.topic``       ``__dlq.errors.topic``
``barnabas.dead_letter.partition``   ``__dlq.errors.partition``
``barnabas.dead_letter.offset``      ``__dlq.errors.offset``
``barnabas.dead_letter.timestamp``
``barnabas.dead_letter.reason``      ``__dlq.errors.message``
``barnabas.dead_letter.pipeline``    ``__dlq.errors.group``
                                     ``__dlq.errors.delivery.count``

``barnabas.redriven`` of a record that was sent again counts how often.

A redrive remembers the source records that it has sent, as positions in records of the topic
``barnabas.redriven.<dead-letter topic>``. Each transaction of a redrive writes one, so a letter is
sent once, also when its topic has it several times. The offsets of the group
``barnabas.redrive.<dead-letter topic>`` tell how far a redrive of all letters came.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

PREFIX: Final = "barnabas.dead_letter."
SHARE_PREFIX: Final = "__dlq.errors."
REDRIVEN: Final = "barnabas.redriven"
# The broker deletes whole segments, so they are small compared with the topic.
POSITIONS_TOPIC_CONFIG: Final = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": str(64 * 1024 * 1024),
    "segment.bytes": str(8 * 1024 * 1024),
}


class Position(NamedTuple):
    """The position of a source record. The timestamp distinguishes it from a record with the same
    offset after the topic was deleted and created again."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True)
class Origin:
    """The headers of a letter."""

    writer: str
    """The pipeline or the share group that gave the record up."""
    is_of_share_group: bool
    reason: str
    topic: str | None
    """Where the record came from; None for lines of files."""
    position: Position | None
    attempts: int
    """How often the record was sent again already."""
    deliveries: int | None
    """Of a share group."""


def origin_of(headers: Iterable[tuple[str, bytes | None]]) -> Origin | None:
    """None for a record that is no dead letter."""
    by_name = {name: (value or b"").decode("utf-8", "replace") for name, value in headers}
    is_share = PREFIX + "reason" not in by_name and PREFIX + "topic" not in by_name and SHARE_PREFIX + "topic" in by_name
    prefix = SHARE_PREFIX if is_share else PREFIX
    own = {name.removeprefix(prefix): value for name, value in by_name.items() if name.startswith(prefix)}
    if not own:
        return None
    return Origin(
        writer=own.get("group" if is_share else "pipeline", ""),
        is_of_share_group=is_share,
        reason=own.get("message" if is_share else "reason", ""),
        topic=own.get("topic") or None,
        position=_position(own),
        attempts=_number(by_name.get(REDRIVEN, "")) or 0,
        deliveries=_number(own.get("delivery.count", "")),
    )


def headers_again(headers: Iterable[tuple[str, T]], attempts: int) -> list[tuple[str, T | bytes]]:
    """The headers of the record when it is sent again: its own ones, and the count."""
    of_letters = (PREFIX, SHARE_PREFIX)
    own = [(name, value) for name, value in headers if not name.startswith(of_letters) and name != REDRIVEN]
    return [*own, (REDRIVEN, str(attempts + 1).encode())]


def _position(own: dict[str, str]) -> Position | None:
    topic, partition, offset = own.get("topic", ""), _number(own.get("partition", "")), _number(own.get("offset", ""))
    if not topic or partition is None or offset is None:
        return None
    timestamp = own.get("timestamp", "")
    return Position(topic, partition, offset, int(timestamp) if timestamp.lstrip("-").isdecimal() and len(timestamp) < 20 else None)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 20 else None


def group_of(dead_letters: str) -> str:
    return f"barnabas.redrive.{dead_letters}"


def positions_topic_of(dead_letters: str) -> str:
    return f"barnabas.redriven.{dead_letters}"


def encode(positions: Iterable[Position]) -> bytes:
    """The value of one record: the positions that one transaction sent."""
    by_topic: dict[str, list[tuple[int, int, int | None]]] = defaultdict(list)
    for topic, partition, offset, timestamp_ms in positions:
        by_topic[topic].append((partition, offset, timestamp_ms))
    return json.dumps({"sent": by_topic}, separators=(",", ":")).encode()


def decode(value: bytes) -> Iterator[Position]:
    for topic, found in json.loads(value)["sent"].items():
        for partition, offset, timestamp_ms in found:
            yield Position(topic, partition, offset, timestamp_ms)
