"""From the values of a codec to objects.

Unknown fields are ignored and missing ones get their defaults, so that an old program reads new
data and a new program reads old data, in the formats whose codec does not see to that itself.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

from barnabas.schemas.errors import DoesNotDecode
from barnabas.schemas.serdes.python_types.pydantic_models import is_model
from barnabas.schemas.serdes.python_types.shapes import Anything, Choice, Enumeration, Items, Record, Scalar, Shape, Values
from barnabas.schemas.serdes.python_types.to_values import Form

FromValue = Callable[[Any], Any]

# How a type is made of what other formats have in its place.
_MADE: Final[dict[type, tuple[tuple[type, ...], FromValue]]] = {
    datetime: ((str,), datetime.fromisoformat),
    date: ((str,), date.fromisoformat),
    time: ((str,), time.fromisoformat),
    timedelta: ((int, float), lambda value: timedelta(seconds=value)),
    Decimal: ((str, int, float), lambda value: Decimal(str(value))),
    UUID: ((str,), UUID),
    bytes: ((str,), lambda value: b64decode(value, validate=True)),
    float: ((int,), float),
}


def from_values(shape: Shape, form: Form) -> FromValue:
    """The function raises :class:`DoesNotDecode` for a value that makes no object."""
    return _Compiler(form).function(shape)


class _Compiler:
    def __init__(self, form: Form) -> None:
        self._form = form
        self._made: dict[int, list[FromValue]] = {}

    def function(self, shape: Shape) -> FromValue:
        box = self._made.get(id(shape))
        if box is None:
            box = self._made[id(shape)] = []
            box.append(self._compiled(shape))
        if box:
            return box[0]
        return lambda value: box[0](value)  # of a type that contains itself

    def _compiled(self, shape: Shape) -> FromValue:
        match shape:
            case Scalar(type=type_):
                return _scalar(type_)
            case Enumeration():
                return self._enumeration(shape)
            case Items():
                return self._items(shape)
            case Values():
                return self._values(shape)
            case Choice(branches=branches):
                return self._choice(branches)
            case Anything():
                return lambda value: value
            case Record():
                if self._form is Form.JSON and is_model(shape.type):
                    return lambda value: _model(shape, value)
                return self._record(shape)

    def _enumeration(self, shape: Enumeration) -> FromValue:
        members = {each.value: each for each in shape.type} if self._form is Form.JSON else dict(shape.type.__members__)

        def make(value: Any) -> Any:
            try:
                return members[value]
            except (KeyError, TypeError):
                raise DoesNotDecode(f"{value!r} is no {shape.type.__name__}") from None

        return make

    def _items(self, shape: Items) -> FromValue:
        item, make_all = self.function(shape.item), shape.make

        def make(value: Any) -> Any:
            if not isinstance(value, list):
                raise DoesNotDecode(f"a value of type {type(value).__name__} is no list")
            return make_all(_stepped(str(index), item, each) for index, each in enumerate(value))

        return make

    def _values(self, shape: Values) -> FromValue:
        inner = self.function(shape.value)

        def make(value: Any) -> Any:
            if not isinstance(value, Mapping):
                raise DoesNotDecode(f"a value of type {type(value).__name__} is no dict")
            return {key: _stepped(str(key), inner, each) for key, each in value.items()}

        return make

    def _choice(self, branches: tuple[Shape, ...]) -> FromValue:
        functions = [(branch, self.function(branch)) for branch in branches]
        records = {branch.name: function for branch, function in functions if isinstance(branch, Record)}

        def make(value: Any) -> Any:
            if value is None:
                return None
            if isinstance(value, tuple):
                # Avro's codec names the record of a union that has several.
                name, value = value
                if name.rpartition(".")[2] in records:
                    return records[name.rpartition(".")[2]](value)
            failure: DoesNotDecode | None = None
            for exactly in (True, False):
                for branch, function in functions:
                    if isinstance(branch, Scalar) and (branch.type is type(None) or (type(value) is branch.type) is not exactly):
                        continue
                    try:
                        return function(value)
                    except DoesNotDecode as error:
                        failure = error
            raise failure or DoesNotDecode(f"a value of type {type(value).__name__} fits no type of the union")

        return make

    def _record(self, shape: Record) -> FromValue:
        fields = [(each, self.function(each.shape), _takes_none(each.shape)) for each in shape.fields]

        def make(value: Any) -> Any:
            if not isinstance(value, Mapping):
                raise DoesNotDecode(f"a value of type {type(value).__name__} is no {shape.name}")
            found: dict[str, Any] = {}
            for field, inner, takes_none in fields:
                given = value.get(field.name)
                if given is None and (field.name not in value or not takes_none):
                    # Protobuf has None for a field that is not set.
                    if field.is_required:
                        raise DoesNotDecode(f"the field is missing, and {shape.name} has no default for it", field.name)
                    continue
                found[field.key] = _stepped(field.name, inner, given)
            try:
                return shape.make(found)
            except (TypeError, ValueError) as error:
                raise DoesNotDecode(f"the values make no {shape.name}: {error}") from None

        return make


def _scalar(type_: type) -> FromValue:
    others, convert = _MADE.get(type_, ((), None))

    def make(value: Any) -> Any:
        if isinstance(value, type_) and (type_ is not int or not isinstance(value, bool)):
            return value
        if convert is not None and isinstance(value, others) and not isinstance(value, bool):
            try:
                return convert(value)
            except (ValueError, OverflowError, InvalidOperation, NoBase64) as error:
                raise DoesNotDecode(f"{value!r} is no {type_.__name__}: {error}") from None
        raise DoesNotDecode(f"a value of type {type(value).__name__} is no {type_.__name__}")

    return make


def _model(shape: Record, value: Any) -> Any:
    try:
        return shape.make(value)
    except (TypeError, ValueError) as error:
        raise DoesNotDecode(f"the document makes no {shape.name}: {error}") from None


def _takes_none(shape: Shape) -> bool:
    match shape:
        case Scalar(type=type_):
            return type_ is type(None)
        case Choice(branches=branches):
            return any(map(_takes_none, branches))
    return isinstance(shape, Anything)


def _stepped(step: str, make: FromValue, value: Any) -> Any:
    try:
        return make(value)
    except DoesNotDecode as error:
        raise DoesNotDecode(error.reason, f"{step}/{error.path}" if error.path else step) from None
