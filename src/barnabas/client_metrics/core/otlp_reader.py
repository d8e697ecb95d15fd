"""Data points from a push: the message ``MetricsData`` of OTLP 1.

    MetricsData > ResourceMetrics > ScopeMetrics > Metric > Gauge or Sum > NumberDataPoint

Clients of Kafka push gauges and sums only. Histograms and summaries are counted and not read, and
neither are attributes whose values are lists or maps. Unknown fields are skipped, as protobuf
wants it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import field

from barnabas.client_metrics.core.otlp_fields import BYTES, EIGHT_BYTES, VARINT, Budget, fields
from barnabas.model.dataclass import dataclass

# Of the name of a metric and all its labels together. Names of topics have at most 249 characters.
POINT_CHARACTERS_MAX = 1024

_TOP_RESOURCE_METRICS = 1
_RESOURCE, _SCOPE_METRICS = 1, 2
_RESOURCE_ATTRIBUTES = 1
_METRICS = 2
_NAME, _GAUGE, _SUM = 1, 5, 7
_OTHER_KINDS = (9, 10, 11)  # histogram, exponential histogram, summary
_POINTS, _TEMPORALITY, _MONOTONIC = 1, 2, 3
_DELTA = 1
_DOUBLE, _INTEGER, _ATTRIBUTES, _FLAGS = 4, 6, 7, 8
_NO_VALUE = 1
_KEY, _VALUE = 1, 2

Attributes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """``delta`` points add to a total, the others replace a value."""

    name: str
    attributes: Attributes
    value: float
    counts: bool
    delta: bool


@dataclass(slots=True)
class Opened:
    """A push that was read. ``resource`` are the attributes of the client itself, such as its
    group."""

    points: list[Point] = field(default_factory=list)
    resource: dict[str, str] = field(default_factory=dict)
    # Points that are not read: of other kinds, or with too much text.
    other_kinds: int = 0
    too_long: int = 0


def read_otlp(data: bytes, budget: Budget | None = None) -> Opened:
    """``MalformedOtlp`` or ``OtlpTooLarge`` for bytes that cannot be read to their end."""
    budget = budget or Budget()
    opened = Opened()
    for number, wire_type, _, content in fields(data, budget):
        if number == _TOP_RESOURCE_METRICS and wire_type == BYTES:
            _read_resource_metrics(content, opened, budget)
    return opened


def _read_resource_metrics(data: bytes, opened: Opened, budget: Budget) -> None:
    for number, wire_type, _, content in fields(data, budget):
        if wire_type != BYTES:
            continue
        if number == _RESOURCE and not opened.resource:
            opened.resource.update(_read_attributes(content, _RESOURCE_ATTRIBUTES, budget))
        elif number == _SCOPE_METRICS:
            for inner, inner_type, _, metric in fields(content, budget):
                if inner == _METRICS and inner_type == BYTES:
                    _read_metric(metric, opened, budget)


def _read_metric(data: bytes, opened: Opened, budget: Budget) -> None:
    name, parts = "", []
    for number, wire_type, _, content in fields(data, budget):
        if wire_type != BYTES:
            continue
        if number == _NAME:
            name = _text(content)
        elif number in (_GAUGE, _SUM):
            parts.append((number, content))
        elif number in _OTHER_KINDS:
            opened.other_kinds += 1
    for number, content in parts:
        opened.points += _read_points(name, content, opened, budget, is_sum=number == _SUM)


def _read_points(name: str, data: bytes, opened: Opened, budget: Budget, *, is_sum: bool) -> Iterator[Point]:
    found, temporality, monotonic = [], 0, 0
    for number, wire_type, value, content in fields(data, budget):
        if number == _POINTS and wire_type == BYTES:
            found.append(content)
        elif is_sum and wire_type == VARINT:
            temporality = value if number == _TEMPORALITY else temporality
            monotonic = value if number == _MONOTONIC else monotonic
    for content in found:
        read = _read_point(content, budget)
        if read is None:
            continue
        attributes, measured = read
        if len(name) + sum(len(key) + len(text) for key, text in attributes) > POINT_CHARACTERS_MAX:
            opened.too_long += 1
        else:
            yield Point(name, attributes, measured, counts=bool(monotonic), delta=temporality == _DELTA)


def _read_point(data: bytes, budget: Budget) -> tuple[Attributes, float] | None:
    """None for a point without a value."""
    value: float | None = None
    for number, wire_type, read, _ in fields(data, budget):
        if wire_type == EIGHT_BYTES and number == _DOUBLE:
            value = _double(read)
        elif wire_type == EIGHT_BYTES and number == _INTEGER:
            value = float(read)
        elif wire_type == VARINT and number == _FLAGS and read & _NO_VALUE:
            return None
    if value is None:
        return None
    return tuple(_read_attributes(data, _ATTRIBUTES, budget).items()), value


def _read_attributes(data: bytes, number: int, budget: Budget) -> dict[str, str]:
    """The attributes among the fields of a message, those with simple values."""
    found: dict[str, str] = {}
    for each, wire_type, _, content in fields(data, budget):
        if each == number and wire_type == BYTES:
            key, value = read_attribute(content, budget)
            if value is not None:
                found[key] = value
    return found


def read_attribute(data: bytes, budget: Budget) -> tuple[str, str | None]:
    key, value = "", None
    for number, wire_type, _, content in fields(data, budget):
        if number == _KEY and wire_type == BYTES:
            key = _text(content)
        elif number == _VALUE and wire_type == BYTES:
            value = _simple_value(content, budget)
    return key, value


def _simple_value(data: bytes, budget: Budget) -> str | None:
    for number, wire_type, value, content in fields(data, budget):
        match number, wire_type:
            case (1, 2):  # a string
                return _text(content)
            case (2, 0):  # a truth value
                return "true" if value else "false"
            case (3, 0):  # an integer, with the sign of 64 bits
                return str(value - (1 << 64) if value >= 1 << 63 else value)
            case (4, 1):
                return repr(_double(value))
    return None


def _double(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
