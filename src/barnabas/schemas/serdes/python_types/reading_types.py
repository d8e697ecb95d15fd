"""From the annotations of a type to its shape."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence, Sequence, Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin, get_type_hints, is_typeddict
from uuid import UUID

from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.serdes.python_types.pydantic_models import is_model, model_fields
from barnabas.schemas.serdes.python_types.shapes import (
    NO_DEFAULT,
    Anything,
    Choice,
    Enumeration,
    Items,
    Record,
    RecordField,
    Scalar,
    Shape,
    Values,
)

_SCALARS: Final = frozenset({str, int, float, bool, bytes, datetime, date, time, timedelta, Decimal, UUID, type(None)})
_LISTS: Final = frozenset({list, Sequence, MutableSequence, Iterable})
_DICTS: Final = frozenset({dict, Mapping, MutableMapping})


def shape_of(type_: Any) -> Shape:
    """Raises :class:`InvalidSchema` for a type that has no data of its own."""
    return _Reader().shape(type_)


class _Reader:
    def __init__(self) -> None:
        # A record is known before its fields: they may be of the same type.
        self._records: dict[Any, Record] = {}

    def shape(self, type_: Any, marks: tuple[object, ...] = ()) -> Shape:
        if isinstance(type_, NewType):
            return self.shape(type_.__supertype__, marks)
        origin, arguments = get_origin(type_), get_args(type_)
        if origin is Annotated:
            return self.shape(arguments[0], (*marks, *arguments[1:]))
        if type_ is None:
            return Scalar(type(None))
        if type_ is Any or type_ is object:
            return Anything()
        if origin in (Union, types.UnionType):
            return Choice(tuple(self.shape(each, marks if each is not type(None) else ()) for each in arguments))
        if origin is Literal:
            return self._literal(arguments)
        if isinstance(type_, type) and type_ in _SCALARS:
            return Scalar(type_, marks)
        if isinstance(type_, type) and issubclass(type_, Enum):
            return Enumeration(type_)
        collection = self._collection(origin or type_, arguments)
        return collection if collection is not None else self._record(type_)

    def _collection(self, origin: Any, arguments: tuple[Any, ...]) -> Shape | None:
        item = arguments[0] if arguments else Any
        if origin in _LISTS:
            return Items(self.shape(item))
        if origin in (set, frozenset, AbstractSet):
            return Items(self.shape(item), frozenset if origin is frozenset else set)
        if origin is tuple:
            if len(arguments) != 2 or arguments[1] is not Ellipsis:
                raise InvalidSchema("Only tuples of any length have a schema, such as tuple[int, ...].")
            return Items(self.shape(item), tuple)
        if origin in _DICTS:
            if arguments and arguments[0] is not str:
                raise InvalidSchema(f"The keys of a dict are texts in every format, and not {_shown(arguments[0])}.")
            return Values(self.shape(arguments[1] if arguments else Any))
        return None

    def _literal(self, values: tuple[Any, ...]) -> Shape:
        kinds = {type(value) for value in values}
        if not kinds <= _SCALARS:
            raise InvalidSchema("The values of a Literal are texts, numbers or booleans.")
        shapes = tuple(Scalar(kind) for kind in sorted(kinds, key=lambda kind: kind.__name__))
        return shapes[0] if len(shapes) == 1 else Choice(shapes)

    def _record(self, type_: Any) -> Record:
        known = self._records.get(type_)
        if known is not None:
            return known
        if isinstance(type_, type) and is_model(type_):
            record = Record(type_, type_.model_validate)  # type: ignore[attr-defined]
            self._records[type_] = record
            record.fields.extend(
                RecordField(
                    each.name, each.key, self.shape(each.annotation, each.metadata), _constant(each.default, each.factory), each.is_required
                )
                for each in model_fields(type_)
            )
        elif isinstance(type_, type) and is_dataclass(type_):
            record = self._records[type_] = Record(type_, lambda values: type_(**values))
            hints = _hints(type_)
            record.fields.extend(
                RecordField(
                    each.name,
                    each.name,
                    self.shape(hints[each.name]),
                    _constant(each.default, each.default_factory if each.default_factory is not MISSING else None),
                    each.default is MISSING and each.default_factory is MISSING,
                )
                for each in fields(type_)
                if each.init
            )
        elif is_typeddict(type_):
            record = self._records[type_] = Record(type_, dict, _entry)
            record.fields.extend(
                RecordField(name, name, self.shape(hint), is_required=name in type_.__required_keys__)
                for name, hint in _hints(type_).items()
            )
        else:
            raise InvalidSchema(f"The type {_shown(type_)} has no schema; use a dataclass, a Pydantic model or a type of Python's own.")
        return record


def _hints(type_: type) -> dict[str, Any]:
    try:
        return get_type_hints(type_, include_extras=True)
    except NameError as error:
        raise InvalidSchema(f"An annotation of {type_.__name__} names a type that cannot be found: {error}.") from None


def _constant(default: Any, factory: Any) -> Any:
    """A default that is the same for every object. A factory may give another id or time to each,
    so only its lists and dicts count."""
    if factory is not None:
        made = factory()
        return made if isinstance(made, list | dict | set | frozenset | tuple) else NO_DEFAULT
    return NO_DEFAULT if default is MISSING else default


def _entry(value: Any, name: str) -> Any:
    return value.get(name)


def _shown(type_: Any) -> str:
    return getattr(type_, "__qualname__", None) or str(type_)
