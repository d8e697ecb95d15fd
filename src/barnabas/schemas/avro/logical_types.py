"""Logical types: the values that Python has for them, and the data that stands for them.

===========================  =======================  ============================================
logical type                 stands in                value
===========================  =======================  ============================================
``decimal``                  bytes, fixed             :class:`~decimal.Decimal`
``uuid``                     string, fixed of 16      :class:`~uuid.UUID`
``date``                     int                      :class:`~datetime.date`
``time-millis``, ``-micros`` int, long                :class:`~datetime.time`
``timestamp-millis``, ...    long                     :class:`~datetime.datetime` in UTC
``local-timestamp-...``      long                     :class:`~datetime.datetime` without a zone
===========================  =======================  ============================================

Any other logical type, or one whose attributes make no sense, is its data, as Avro prescribes.
Nanoseconds are data too: Python's types have none.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import Any, Final, NamedTuple, NoReturn
from uuid import UUID

from barnabas.schemas.avro.model import AvroType, Fixed, Primitive
from barnabas.schemas.limits import DECIMAL_BYTES_MAX

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001
_DAYS_BEFORE_EPOCH: Final = date(1970, 1, 1).toordinal()
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY_MICROS: Final = 24 * 3600 * 1_000_000
# Digits that DECIMAL_BYTES_MAX can have, with room for the scale.
_CONTEXT: Final = Context(prec=DECIMAL_BYTES_MAX * 3, traps=[InvalidOperation, Overflow, Inexact])


class LogicalType(NamedTuple):
    """Both functions raise ValueError or OverflowError with the reason."""

    name: str
    value_of: Callable[[Any], object]
    data_of: Callable[[Any], object]
    """Of a value; any other object is data already, and returned."""
    python_type: type


def logical_type_of(type_: AvroType) -> LogicalType | None:
    if not isinstance(type_, Primitive | Fixed):
        return None
    match type_.kind, type_.properties.get("logicalType"):
        case "bytes" | "fixed", "decimal":
            return _decimal(type_)
        case "string", "uuid":
            return LogicalType("uuid", UUID, lambda value: str(value) if isinstance(value, UUID) else value, UUID)
        case "fixed", "uuid" if isinstance(type_, Fixed) and type_.size == 16:
            return LogicalType("uuid", lambda data: UUID(bytes=data), lambda value: value.bytes if isinstance(value, UUID) else value, UUID)
        case "int", "date":
            return LogicalType("date", lambda days: date.fromordinal(days + _DAYS_BEFORE_EPOCH), _days, date)
        case "int", "time-millis":
            return LogicalType("time-millis", lambda data: _time(data * 1000), lambda value: _since_midnight(value, 1000), time)
        case "long", "time-micros":
            return LogicalType("time-micros", _time, lambda value: _since_midnight(value, 1), time)
        case "long", "timestamp-millis" | "timestamp-micros" as name:
            return _timestamp(name, _EPOCH)
        case "long", "local-timestamp-millis" | "local-timestamp-micros" as name:
            return _timestamp(name, _LOCAL_EPOCH)
    return None


def decimal_scale(type_: Primitive | Fixed) -> int | None:
    """None if the attributes of a decimal make no sense."""
    precision, scale = type_.properties.get("precision"), type_.properties.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision or precision == 0:
        return None
    return scale


def _decimal(type_: Primitive | Fixed) -> LogicalType | None:
    scale = decimal_scale(type_)
    if scale is None or scale > DECIMAL_BYTES_MAX:
        return None
    precision: int = type_.properties["precision"]
    size = type_.size if isinstance(type_, Fixed) else None

    def value_of(data: bytes) -> Decimal:
        if len(data) > DECIMAL_BYTES_MAX:
            raise ValueError(f"the decimal has {len(data)} bytes, and the limit is {DECIMAL_BYTES_MAX}")
        return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, _CONTEXT)

    def data_of(value: object) -> object:
        if not isinstance(value, Decimal):
            return value
        if not value.is_finite():
            raise ValueError(f"{value} is no finite number")
        try:
            unscaled = int(value.scaleb(scale, _CONTEXT).to_integral_exact(context=_CONTEXT))
        except Inexact:
            raise ValueError(f"{value} has more than {scale} digits after the point") from None
        except (InvalidOperation, Overflow):
            raise ValueError(f"the decimal is larger than {DECIMAL_BYTES_MAX} bytes hold") from None
        if len(str(abs(unscaled))) > precision:
            raise ValueError(f"{value} has more than {precision} digits")
        return unscaled.to_bytes(size if size is not None else (unscaled.bit_length() + 8) // 8, "big", signed=True)

    return LogicalType("decimal", value_of, data_of, Decimal)


def _days(value: object) -> object:
    if isinstance(value, datetime):
        _refuse(value, "date")
    return value.toordinal() - _DAYS_BEFORE_EPOCH if isinstance(value, date) else value


def _time(micros: int) -> time:
    if not 0 <= micros < _DAY_MICROS:
        raise ValueError("the time is not within a day")
    return (_LOCAL_EPOCH + timedelta(microseconds=micros)).time()


def _since_midnight(value: object, unit_micros: int) -> object:
    if not isinstance(value, time):
        return value
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return (seconds * 1_000_000 + value.microsecond) // unit_micros


def _timestamp(name: str, epoch: datetime) -> LogicalType:
    unit_micros = 1000 if name.endswith("millis") else 1

    def data_of(value: object) -> object:
        if not isinstance(value, datetime):
            return value
        if (value.tzinfo is None) is not (epoch.tzinfo is None):
            _refuse(value, name)
        # Floored, not rounded towards zero: times before 1970 keep their order.
        return (value - epoch) // (_MICROSECOND * unit_micros)

    return LogicalType(name, lambda data: epoch + timedelta(microseconds=data * unit_micros), data_of, datetime)


def _refuse(value: datetime, name: str) -> NoReturn:
    zone = "no time zone" if value.tzinfo is None else "a time zone"
    raise ValueError(f"the datetime {value.isoformat()} has {zone}, so it is no {name}")
