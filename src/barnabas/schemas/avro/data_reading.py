"""From bytes to values, by the schema that wrote them and the schema that reads them.

Each pair of types is compiled once into a function that moves a :class:`Cursor` over its bytes.
fastavro does the same faster, but ends the process when data of a recursive schema is deep, takes
memory without bound for arrays of nulls, and accepts numbers out of range (ADR 16).

Resolution follows Avro's specification: fields by name or alias, defaults for missing ones,
promotions of numbers, defaults of enums, and the first branch of a union that fits. Like Java, it
compares names of records only where a union has several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from struct import Struct
from typing import Any, Final

from barnabas.schemas.avro.compatibility import differences
from barnabas.schemas.avro.default_values import value_of_default
from barnabas.schemas.avro.logical_types import logical_type_of
from barnabas.schemas.avro.model import Array, AvroType, Enumeration, Field, Fixed, Map, NamedType, Primitive, Record, Union
from barnabas.schemas.avro.union_forms import Branch, UnionForm
from barnabas.schemas.errors import DoesNotDecode, InvalidSchema
from barnabas.schemas.limits import DATA_DEPTH_MAX, EMPTY_ITEMS_MAX

_FLOAT: Final = Struct("<f")
_DOUBLE: Final = Struct("<d")
# The largest varint of a long has ten groups of seven bits.
_VARINT_SHIFT_MAX: Final = 63


class Cursor:
    """A position in a payload, and the rest of its budgets."""

    __slots__ = ("at", "data", "depth_left", "empty_items_left")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.depth_left = DATA_DEPTH_MAX
        self.empty_items_left = EMPTY_ITEMS_MAX

    def deeper(self) -> None:
        self.depth_left -= 1
        if self.depth_left < 0:
            raise DoesNotDecode(f"the data is nested more than {DATA_DEPTH_MAX} deep")


Read = Callable[[Cursor], object]
# An IndexError is how Python says that the bytes end within a number.
_FAULTS: Final = (DoesNotDecode, IndexError)


class Unresolvable(InvalidSchema):
    """The reader's schema cannot read data of the writer's."""


def reader_of(writer: AvroType, reader: AvroType, *, logical_types: bool, unions: UnionForm = UnionForm.PLAIN) -> Read:
    """Raises :class:`Unresolvable`. The function raises :class:`DoesNotDecode` or IndexError."""
    return _Compiler(logical_types, unions).read(writer, reader)


class _Compiler:
    def __init__(self, logical_types: bool, unions: UnionForm) -> None:
        self._logical_types = logical_types
        self._unions = unions
        # Pairs whose functions are made, or being made: a recursive type refers to its own.
        self._made: dict[tuple[int, int], list[Read]] = {}
        # The branches of each union of the reader by name: a union may have thousands.
        self._branches: dict[int, dict[str, AvroType]] = {}

    def read(self, writer: AvroType, reader: AvroType) -> Read:
        key = id(writer), id(reader)
        box = self._made.get(key)
        if box is None:
            box = self._made[key] = []
            try:
                box.append(self._compiled(writer, reader))
            except Unresolvable as error:
                # Functions that are made already may refer to this one.
                box.append(_refusing(str(error).rstrip(".")))
                del self._made[key]
                raise
        if box:
            return box[0]
        return lambda cursor: box[0](cursor)

    def _read_or_refuse(self, writer: AvroType, reader: AvroType) -> Read:
        """For types whose data may not occur: a branch of a union, items of an empty array."""
        try:
            return self.read(writer, reader)
        except Unresolvable as error:
            return _refusing(str(error).rstrip("."))

    def _compiled(self, writer: AvroType, reader: AvroType) -> Read:
        if isinstance(writer, Union):
            return self._written_union(writer, reader)
        if isinstance(reader, Union):
            return self._branch_of_reader(writer, reader)
        match writer, reader:
            case Record(), Record():
                return self._record(writer, reader)
            case Enumeration(), Enumeration():
                return _enumeration(writer, reader)
            case Fixed(size=size), Fixed(size=other):
                if size != other:
                    raise Unresolvable(f"The fixed {reader.name.full} has {other} bytes, and the writer's {size}.")
                return self._logical(_fixed(size), writer, reader)
            case Array(), Array():
                return _array(self._read_or_refuse(writer.items, reader.items), takes_bytes=_takes_bytes(writer.items))
            case Map(), Map():
                return _map(self._read_or_refuse(writer.values, reader.values))
            case Primitive(), Primitive():
                return self._logical(_primitive(writer.kind, reader.kind), writer, reader)
        raise Unresolvable(f"The type {_described(reader)} cannot read {_described(writer)}.")

    def _branch_of_reader(self, writer: AvroType, reader: Union) -> Read:
        branch = self._branch(writer, reader)
        read = self.read(writer, branch)
        match self._unions:
            case UnionForm.INDEXED:
                index = list(self._by_name(reader)).index(_name(branch))
                return lambda cursor: Branch(index, read(cursor))
            case UnionForm.NAMED_RECORDS if isinstance(branch, Record) and sum(isinstance(each, Record) for each in reader.branches) > 1:
                name = branch.name.full
                return lambda cursor: (name, read(cursor))
        return read

    def _by_name(self, union: Union) -> dict[str, AvroType]:
        """The branches in their order; a union has each name once."""
        named = self._branches.get(id(union))
        if named is None:
            named = self._branches[id(union)] = {_name(branch): branch for branch in union.branches}
        return named

    def _branch(self, writer: AvroType, union: Union) -> AvroType:
        """The branch of the reader that reads the writer's type: of the same name rather than any
        that can."""
        same = self._by_name(union).get(_name(writer))
        if same is not None and isinstance(same, type(writer)):
            return same
        found = next((branch for branch in union.branches if not differences(branch, writer)), None)
        if found is None:
            raise Unresolvable(f"No branch of the reader's union reads {_described(writer)}.")
        return found

    def _logical(self, read: Read, writer: Primitive | Fixed, reader: Primitive | Fixed) -> Read:
        if not self._logical_types:
            return read
        meant = logical_type_of(reader)
        if meant is None:
            return read
        if meant.name == "decimal":
            # The writer's scale says what the bytes mean.
            meant = logical_type_of(writer) or meant
        value_of = meant.value_of
        name = meant.name

        def read_meaning(cursor: Cursor) -> object:
            data = read(cursor)
            try:
                return value_of(data)
            except (ValueError, OverflowError) as error:
                raise DoesNotDecode(f"{_shown(data)} is no {name}: {error}") from None

        return read_meaning

    def _written_union(self, writer: Union, reader: AvroType) -> Read:
        branches = [self._read_or_refuse(branch, reader) for branch in writer.branches]
        count = len(branches)

        def read(cursor: Cursor) -> object:
            index = read_long(cursor)
            if not 0 <= index < count:
                raise DoesNotDecode(f"the union has {count} branches, and the data names branch {index}")
            return branches[index](cursor)

        return read

    def _record(self, writer: Record, reader: Record) -> Read:
        by_name = {field.name: field for field in reader.fields}
        by_alias = {alias: field for field in reader.fields for alias in field.aliases}
        steps: list[tuple[str, Read, bool]] = []
        found: set[str] = set()
        for field in writer.fields:
            target = by_name.get(field.name) or by_alias.get(field.name)
            if target is None or target.name in found:
                steps.append((field.name, _Compiler(False, UnionForm.PLAIN).read(field.type, field.type), False))
            else:
                found.add(target.name)
                steps.append((target.name, self.read(field.type, target.type), True))
        fillings = [(field.name, self._filling(field, reader)) for field in reader.fields if field.name not in found]
        order = [field.name for field in reader.fields]
        in_order = not fillings and [name for name, _, kept in steps if kept] == order

        def read(cursor: Cursor) -> object:
            cursor.deeper()
            value: dict[str, object] = {}
            for name, inner, kept in steps:
                try:
                    read_value = inner(cursor)
                except _FAULTS as error:
                    raise within(error, name) from None
                if kept:
                    value[name] = read_value
            cursor.depth_left += 1
            if in_order:
                return value
            for name, filling in fillings:
                value[name] = filling()
            return {name: value[name] for name in order}

        return read

    def _filling(self, field: Field, reader: Record) -> Callable[[], object]:
        if not field.has_default:
            raise Unresolvable(f"The field {field.name} of {reader.name.full} is not in the writer's schema and has no default.")
        value = value_of_default(field.type, field.default, logical_types=self._logical_types)
        if isinstance(value, dict | list):
            return lambda: deepcopy(value)  # The caller may change its value.
        return lambda: value


def within(error: Exception, step: str) -> DoesNotDecode:
    """The error, as seen from one level further out."""
    if not isinstance(error, DoesNotDecode):
        return DoesNotDecode("the bytes end early", step)
    return DoesNotDecode(error.reason, f"{step}/{error.path}" if error.path else step)


# -- the bytes of each type ------------------------------------------------------------------------


def read_long(cursor: Cursor) -> int:
    data, at = cursor.data, cursor.at
    byte = data[at]
    at += 1
    value = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        if shift > _VARINT_SHIFT_MAX:
            raise DoesNotDecode("a number has more than ten bytes")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    cursor.at = at
    if value >= 1 << 64:
        raise DoesNotDecode("a number has more than 64 bits")
    return (value >> 1) ^ -(value & 1)


def _read_int(cursor: Cursor) -> int:
    value = read_long(cursor)
    if not -0x8000_0000 <= value <= 0x7FFF_FFFF:
        raise DoesNotDecode(f"{value} is no int of 32 bits")
    return value


def _read_bytes(cursor: Cursor) -> bytes:
    size = read_long(cursor)
    at = cursor.at
    end = at + size
    if size < 0 or end > len(cursor.data):
        raise DoesNotDecode(f"the data claims {size} bytes, and {len(cursor.data) - at} are left")
    cursor.at = end
    return cursor.data[at:end]


def _read_string(cursor: Cursor) -> str:
    try:
        return _read_bytes(cursor).decode()
    except UnicodeDecodeError:
        raise DoesNotDecode("the string is no UTF-8") from None


def _read_boolean(cursor: Cursor) -> bool:
    byte = cursor.data[cursor.at]
    if byte > 1:
        raise DoesNotDecode(f"a boolean is 0 or 1, and not {byte}")
    cursor.at += 1
    return byte == 1


def _null(cursor: Cursor) -> None:
    return None


def _fixed(size: int) -> Read:
    def read(cursor: Cursor) -> bytes:
        at = cursor.at
        end = at + size
        if end > len(cursor.data):
            raise IndexError
        cursor.at = end
        return cursor.data[at:end]

    return read


def _number(form: Struct) -> Read:
    size = form.size

    def read(cursor: Cursor) -> float:
        at = cursor.at
        if at + size > len(cursor.data):
            raise IndexError
        cursor.at = at + size
        value: float = form.unpack_from(cursor.data, at)[0]
        return value

    return read


_PRIMITIVES: Final[dict[str, Read]] = {
    "null": _null,
    "boolean": _read_boolean,
    "int": _read_int,
    "long": read_long,
    "float": _number(_FLOAT),
    "double": _number(_DOUBLE),
    "bytes": _read_bytes,
    "string": _read_string,
}


def _primitive(writer: str, reader: str) -> Read:
    read: Callable[[Cursor], Any] = _PRIMITIVES[writer]
    if writer == reader:
        return read
    match writer, reader:
        case ("int", "long") | ("float", "double"):
            return read
        case "int" | "long", "float" | "double":
            return lambda cursor: float(read(cursor))
        case "string", "bytes":
            return _read_bytes
        case "bytes", "string":
            return _read_string
    raise Unresolvable(f"The type {reader} cannot read {writer}.")


def _enumeration(writer: Enumeration, reader: Enumeration) -> Read:
    symbols = [symbol if symbol in reader.symbols else reader.default for symbol in writer.symbols]

    def read(cursor: Cursor) -> object:
        index = read_long(cursor)
        if not 0 <= index < len(symbols):
            raise DoesNotDecode(f"the enum has {len(symbols)} symbols, and the data names number {index}")
        symbol = symbols[index]
        if symbol is None:
            raise DoesNotDecode(f"the reader's enum has no symbol {writer.symbols[index]}, and no default")
        return symbol

    return read


def _block(cursor: Cursor, *, takes_bytes: bool) -> int:
    """The number of items that follow; 0 at the end."""
    count = read_long(cursor)
    if count < 0:
        count = -count
        read_long(cursor)  # the size of the block in bytes, for readers that skip it
    if takes_bytes:
        if count > len(cursor.data) - cursor.at:
            raise DoesNotDecode(f"the data claims {count} items, and {len(cursor.data) - cursor.at} bytes are left")
    else:
        cursor.empty_items_left -= count
        if cursor.empty_items_left < 0:
            raise DoesNotDecode(f"the data has more than {EMPTY_ITEMS_MAX} items without bytes")
    return count


def _array(item: Read, *, takes_bytes: bool) -> Read:
    def read(cursor: Cursor) -> object:
        cursor.deeper()
        items: list[object] = []
        while count := _block(cursor, takes_bytes=takes_bytes):
            for _ in range(count):
                try:
                    items.append(item(cursor))
                except _FAULTS as error:
                    raise within(error, str(len(items))) from None
        cursor.depth_left += 1
        return items

    return read


def _map(inner: Read) -> Read:
    def read(cursor: Cursor) -> object:
        cursor.deeper()
        found: dict[str, object] = {}
        while count := _block(cursor, takes_bytes=True):
            for _ in range(count):
                key = _read_string(cursor)
                try:
                    found[key] = inner(cursor)
                except _FAULTS as error:
                    raise within(error, key) from None
        cursor.depth_left += 1
        return found

    return read


def _refusing(reason: str) -> Read:
    def read(cursor: Cursor) -> object:
        raise DoesNotDecode(reason)

    return read


# -- choices between types -------------------------------------------------------------------------


def _name(type_: AvroType) -> str:
    return type_.name.full if isinstance(type_, NamedType) else type_.kind


def _takes_bytes(type_: AvroType, outer: Sequence[AvroType] = ()) -> bool:
    """Whether data of the type is at least one byte."""
    match type_:
        case Primitive(kind=kind):
            return kind != "null"
        case Fixed(size=size):
            return size > 0
        case Record(fields=fields):
            # A record that must contain itself has no data at all.
            return any(type_ is each for each in outer) or any(_takes_bytes(field.type, (*outer, type_)) for field in fields)
    return True


def _described(type_: AvroType) -> str:
    return f"{type_.kind} {_name(type_)}" if isinstance(type_, NamedType) else type_.kind


def _shown(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 50 else f"{text[:50]}..."
