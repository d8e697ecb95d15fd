"""The changes between two ``.proto`` files, from the old one to the new one.

Protobuf identifies fields by number, so fields are compared by number over the whole message, those
of a ``oneof`` included: a field that moves into one or out of it keeps its bytes. Types that other
files define are compared where a field uses them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.schemas.protobuf.model import (
    SCALAR_GROUPS,
    EnumType,
    FieldType,
    MapOf,
    MessageField,
    MessageType,
    Named,
    ProtoFile,
    Scalar,
)
from barnabas.schemas.steps import Steps

COMPATIBLE: Final = frozenset(
    {
        "MESSAGE_ADDED",
        "MESSAGE_MOVED",
        "ENUM_ADDED",
        "ENUM_REMOVED",
        "ENUM_CONST_ADDED",
        "ENUM_CONST_CHANGED",
        "ENUM_CONST_REMOVED",
        "FIELD_ADDED",
        "FIELD_REMOVED",
        "FIELD_NAME_CHANGED",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED",
        "ONEOF_ADDED",
        "ONEOF_REMOVED",
        "ONEOF_FIELD_ADDED",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL",
    }
)
_MESSAGE: Final = "message"
_NUMBER: Final = "number"
_TEXT: Final = "text"


class Change(NamedTuple):
    kind: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} #/{'/'.join(self.path)}"


def changes_between(old: ProtoFile, new: ProtoFile, steps: Steps | None = None) -> list[Change]:
    """All changes, compatible ones included."""
    comparison = _Comparison(old, new, steps or Steps())
    found = [Change("PACKAGE_CHANGED")] if old.package != new.package else []
    return [*found, *comparison.types(old, new, ())]


class _Comparison:
    def __init__(self, old: ProtoFile, new: ProtoFile, steps: Steps) -> None:
        self._old = old.types
        self._new = new.types
        self._own = _messages_of(old), _messages_of(new)
        # Messages under comparison: a recursive message is compatible unless something else in it
        # is not.
        self._under_way: set[tuple[int, int]] = set()
        self._steps = steps

    def types(self, old: ProtoFile | MessageType, new: ProtoFile | MessageType, path: tuple[str, ...]) -> Iterator[Change]:
        before = {each.name: (index, each) for index, each in enumerate(old.messages)}
        after = {each.name: (index, each) for index, each in enumerate(new.messages)}
        for name in sorted(before.keys() | after.keys()):
            at = (*path, name)
            if name not in after:
                yield Change("MESSAGE_REMOVED", at)
            elif name not in before:
                yield Change("MESSAGE_ADDED", at)
            else:
                yield from self.messages(before[name][1], after[name][1], at)
                if before[name][0] != after[name][0]:
                    yield Change("MESSAGE_MOVED", at)
        yield from _enums(old.enums, new.enums, path)

    def messages(self, old: MessageType, new: MessageType, path: tuple[str, ...]) -> Iterator[Change]:
        pair = id(old), id(new)
        if pair in self._under_way:
            return
        self._steps.take(1 + (len(old.fields) + len(new.fields)) // 8)
        self._under_way.add(pair)
        yield from _oneofs(old, new, path)
        gone = _oneofs_gone(old, new)
        for number in sorted(old.fields.keys() | new.fields.keys()):
            before, after = old.fields.get(number), new.fields.get(number)
            if after is None:
                assert before is not None
                yield from _field_removed(before, gone, path)
            elif before is None:
                yield _field_added(after, path)
            else:
                yield from self._fields(before, after, path)
        yield from self.types(old, new, path)
        self._under_way.discard(pair)

    def _fields(self, old: MessageField, new: MessageField, path: tuple[str, ...]) -> Iterator[Change]:
        if old.oneof is not None and new.oneof is None:
            yield Change("ONEOF_FIELD_MOVED_TO_TOP_LEVEL", (*path, str(new.number)))
        at = _field_path(new, path)
        if old.name != new.name:
            yield Change("FIELD_NAME_CHANGED", at)
        yield from self._field_types(old.type, new.type, at, labels=(old.label, new.label))

    def _field_types(
        self, old: FieldType, new: FieldType, path: tuple[str, ...], *, labels: tuple[str | None, str | None] = (None, None)
    ) -> Iterator[Change]:
        if isinstance(old, MapOf) and isinstance(new, MapOf):
            yield from self._field_types(old.key, new.key, path)
            yield from self._field_types(old.value, new.value, path)
            return
        before, after = _group(old, self._old), _group(new, self._new)
        if (before == _MESSAGE) != (after == _MESSAGE) or isinstance(old, MapOf) != isinstance(new, MapOf):
            yield Change("FIELD_KIND_CHANGED", path)
        elif before == _MESSAGE:
            assert isinstance(old, Named)
            assert isinstance(new, Named)
            yield from self._named(old, new, path)
        elif before != after:
            yield Change("FIELD_SCALAR_KIND_CHANGED", path)
        elif None not in labels and labels[0] != labels[1]:
            yield Change("FIELD_STRING_OR_BYTES_LABEL_CHANGED" if before == _TEXT else "FIELD_NUMERIC_LABEL_CHANGED", path)

    def _named(self, old: Named, new: Named, path: tuple[str, ...]) -> Iterator[Change]:
        before, after = self._old.get(old.full_name), self._new.get(new.full_name)
        if not isinstance(before, MessageType) or not isinstance(after, MessageType):
            # Types that come with Protobuf are not read; their names say enough.
            if old.full_name != new.full_name:
                yield Change("FIELD_NAMED_TYPE_CHANGED", path)
            return
        if before.local_name != after.local_name:
            yield Change("FIELD_NAMED_TYPE_CHANGED", path)
            return
        if id(before) in self._own[0] and id(after) in self._own[1]:
            return  # Compared with the other types of these files.
        found = list(self.messages(before, after, (before.local_name,)))
        yield from found
        if any(change.kind not in COMPATIBLE for change in found):
            yield Change("FIELD_NAMED_TYPE_CHANGED", path)


def _messages_of(owner: ProtoFile | MessageType) -> set[int]:
    """The identities of the messages that a file defines itself; another file may have the same
    package."""
    return {each for message in owner.messages for each in (id(message), *_messages_of(message))}


def _group(type_: FieldType, types: dict[str, MessageType | EnumType]) -> str:
    match type_:
        case Scalar(name=name):
            return SCALAR_GROUPS[name]
        case Named(full_name=full_name):
            return _NUMBER if isinstance(types.get(full_name), EnumType) else _MESSAGE
        case MapOf():
            return "map"


def _field_path(field: MessageField, path: tuple[str, ...]) -> tuple[str, ...]:
    return (*path, *((field.oneof,) if field.oneof is not None else ()), str(field.number))


def _field_removed(field: MessageField, gone: set[str], path: tuple[str, ...]) -> Iterator[Change]:
    if field.oneof is None:
        yield Change("REQUIRED_FIELD_REMOVED" if field.label == "required" else "FIELD_REMOVED", (*path, str(field.number)))
    elif field.oneof not in gone:
        # A reader of the oneof would find none of its fields set.
        yield Change("ONEOF_FIELD_REMOVED", _field_path(field, path))


def _field_added(field: MessageField, path: tuple[str, ...]) -> Change:
    if field.oneof is not None:
        return Change("ONEOF_FIELD_ADDED", _field_path(field, path))
    return Change("REQUIRED_FIELD_ADDED" if field.label == "required" else "FIELD_ADDED", (*path, str(field.number)))


def _oneofs_gone(old: MessageType, new: MessageType) -> set[str]:
    """Oneofs that were deleted with all their fields."""
    kept = {field.oneof for number, field in old.fields.items() if number in new.fields}
    return {name for name in old.oneofs if name not in new.oneofs and name not in kept}


def _oneofs(old: MessageType, new: MessageType, path: tuple[str, ...]) -> Iterator[Change]:
    for name in new.oneofs:
        # Fields of one old oneof excluded each other already, a field of none excluded no other.
        members = [old.fields[number] for number, field in new.fields.items() if field.oneof == name and number in old.fields]
        alone = [field for field in members if field.oneof is None]
        groups = {field.oneof for field in members if field.oneof is not None}
        if len(alone) + len(groups) > 1:
            yield Change("MULTIPLE_FIELDS_MOVED_TO_ONEOF" if len(alone) > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF", (*path, name))
    for name in sorted({*old.oneofs, *new.oneofs}):
        if name not in new.oneofs:
            yield Change("ONEOF_REMOVED", (*path, name))
        elif name not in old.oneofs:
            yield Change("ONEOF_ADDED", (*path, name))


def _enums(old: list[EnumType], new: list[EnumType], path: tuple[str, ...]) -> Iterator[Change]:
    before, after = ({each.name: each for each in enums} for enums in (old, new))
    for name in sorted(before.keys() | after.keys()):
        at = (*path, name)
        if name not in after:
            yield Change("ENUM_REMOVED", at)
        elif name not in before:
            yield Change("ENUM_ADDED", at)
        else:
            yield from _values(before[name].values, after[name].values, at)


def _values(old: dict[int, str], new: dict[int, str], path: tuple[str, ...]) -> Iterator[Change]:
    for number in sorted(old.keys() | new.keys()):
        at = (*path, str(number))
        if number not in new:
            yield Change("ENUM_CONST_REMOVED", at)
        elif number not in old:
            yield Change("ENUM_CONST_ADDED", at)
        elif old[number] != new[number]:
            yield Change("ENUM_CONST_CHANGED", at)
