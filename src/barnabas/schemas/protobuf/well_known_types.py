"""Messages of Protobuf's own that mean something else: times, wrapped values, JSON.

==============================  ====================================================================
message of google.protobuf      value
==============================  ====================================================================
``Timestamp``                   :class:`~datetime.datetime` in UTC, nanoseconds cut to microseconds
``Duration``                    :class:`~datetime.timedelta`, cut likewise
``StringValue``, ``...Value``   the value inside
``Struct``, ``Value``           dicts, lists, texts, numbers, booleans and None
==============================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class WellKnown(NamedTuple):
    value_of: Callable[[Any], object]
    fill: Callable[[Any, Any], None]
    """Set a message to a value."""


def well_known(full_name: str) -> WellKnown | None:
    return _TYPES.get(full_name)


def _timestamp(message: Any) -> object:
    try:
        return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError:
        raise DoesNotDecode(f"the timestamp of {message.seconds} seconds is no time of Python") from None


def _fill_timestamp(message: Any, value: Any) -> None:
    if not isinstance(value, datetime):
        raise DoesNotEncode(f"a value of type {type(value).__name__} is no timestamp")
    if value.tzinfo is None:
        raise DoesNotEncode("the datetime has no time zone, so it is no timestamp")
    micros = (value - _EPOCH) // _MICROSECOND
    message.seconds, message.nanos = micros // 1_000_000, micros % 1_000_000 * 1000


def _duration(message: Any) -> object:
    try:
        return timedelta(seconds=message.seconds, microseconds=int(message.nanos / 1000))
    except OverflowError:
        raise DoesNotDecode(f"the duration of {message.seconds} seconds is no timedelta of Python") from None


def _fill_duration(message: Any, value: Any) -> None:
    if not isinstance(value, timedelta):
        raise DoesNotEncode(f"a value of type {type(value).__name__} is no duration")
    micros = value // _MICROSECOND
    # Both parts have the same sign.
    seconds, rest = divmod(abs(micros), 1_000_000)
    sign = -1 if micros < 0 else 1
    message.seconds, message.nanos = sign * seconds, sign * rest * 1000


def _wrapped(message: Any) -> object:
    return message.value


def _fill_wrapped(message: Any, value: Any) -> None:
    try:
        message.value = value
    except (TypeError, ValueError) as error:
        raise DoesNotEncode(str(error)) from None
    message.SetInParent()


def _json(message: Any) -> object:
    match message.WhichOneof("kind"):
        case "struct_value":
            return _struct(message.struct_value)
        case "list_value":
            return [_json(each) for each in message.list_value.values]
        case None | "null_value":
            return None
        case kind:
            return getattr(message, kind)


def _struct(message: Any) -> object:
    return {key: _json(message.fields[key]) for key in message.fields}


def _fill_json(message: Any, value: Any) -> None:
    match value:
        case None:
            message.null_value = 0
        case bool():
            message.bool_value = value
        case int() | float():
            message.number_value = value
        case str():
            message.string_value = value
        case Mapping():
            message.struct_value.SetInParent()
            _fill_struct(message.struct_value, value)
        case Sequence():
            message.list_value.SetInParent()
            for each in value:
                _fill_json(message.list_value.values.add(), each)
        case _:
            raise DoesNotEncode(f"a value of type {type(value).__name__} is no JSON")


def _fill_struct(message: Any, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise DoesNotEncode(f"a value of type {type(value).__name__} is no struct")
    for key, each in value.items():
        _fill_json(message.fields[key], each)


_WRAPPERS: Final = ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
_TYPES: Final = {
    "google.protobuf.Timestamp": WellKnown(_timestamp, _fill_timestamp),
    "google.protobuf.Duration": WellKnown(_duration, _fill_duration),
    "google.protobuf.Struct": WellKnown(_struct, _fill_struct),
    "google.protobuf.Value": WellKnown(_json, _fill_json),
    **{f"google.protobuf.{name}Value": WellKnown(_wrapped, _fill_wrapped) for name in _WRAPPERS},
}
