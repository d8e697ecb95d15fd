"""From values to bytes, by the schema that writes them.

Each type is compiled once into a function that appends to the bytes. A value must fit exactly: a
number in its range, a record without fields that the schema does not have. A field that is missing
gets its default.

A union takes the branch whose Python type is that of the value, then any other branch that can
write it; a pair ``(name, value)`` names the branch, with or without its
namespace, and a :class:`~barnabas.schemas.avro.union_forms.Branch` gives its index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from struct import Struct, error as StructError  # noqa: N812
from typing import Any, Final

from barnabas.schemas.avro.default_values import value_of_default
from barnabas.schemas.avro.logical_types import LogicalType, logical_type_of
from barnabas.schemas.avro.model import Array, AvroType, Enumeration, Field, Fixed, Map, Primitive, Record, Union
from barnabas.schemas.avro.union_forms import Branch
from barnabas.schemas.errors import DoesNotEncode
from barnabas.schemas.limits import DATA_DEPTH_MAX

_FLOAT: Final = Struct("<f")
_DOUBLE: Final = Struct("<d")

Write = Callable[[bytearray, Any, int], None]
"""Appends a value; the number is how many levels of nesting are left."""


def writer_of(type_: AvroType) -> Write:
    """The function raises :class:`DoesNotEncode`."""
    return _Compiler().write(type_)


class _Compiler:
    def __init__(self) -> None:
        self._made: dict[int, list[Write]] = {}

    def write(self, type_: AvroType) -> Write:
        box = self._made.get(id(type_))
        if box is None:
            box = self._made[id(type_)] = []
            box.append(self._compiled(type_))
        if box:
            return box[0]
        return lambda out, value, depth: box[0](out, value, depth)

    def _compiled(self, type_: AvroType) -> Write:
        match type_:
            case Primitive(kind=kind):
                return _logical(_PRIMITIVES[kind], logical_type_of(type_))
            case Fixed(size=size):
                return _logical(_fixed(size), logical_type_of(type_))
            case Enumeration(symbols=symbols):
                return _enumeration(symbols)
            case Array(items=items):
                return _array(self.write(items))
            case Map(values=values):
                return _map(self.write(values))
            case Record():
                return self._record(type_)
            case Union(branches=branches):
                return _union(branches, [self.write(branch) for branch in branches])

    def _record(self, record: Record) -> Write:
        fields = [(field.name, self.write(field.type), self._default(field)) for field in record.fields]
        names = frozenset(field.name for field in record.fields)

        def write(out: bytearray, value: Any, depth: int) -> None:
            if not isinstance(value, Mapping):
                raise _unfit(value, f"record {record.name.full}")
            if depth <= 0:
                raise _too_deep()
            for name, inner, default in fields:
                try:
                    if name in value:
                        inner(out, value[name], depth - 1)
                    elif default is not None:
                        default(out)
                    else:
                        raise DoesNotEncode(f"the field is missing in the record {record.name.full}, and has no default")
                except DoesNotEncode as error:
                    raise within(error, name) from None
            if len(value) > len(fields) or not names.issuperset(value):
                unknown = ", ".join(sorted(str(name) for name in value if name not in names))
                raise DoesNotEncode(f"the record {record.name.full} has no field {unknown}")

        return write

    def _default(self, field: Field) -> Callable[[bytearray], None] | None:
        if not field.has_default:
            return None
        write = self.write(field.type)
        value = value_of_default(field.type, field.default, logical_types=False)
        # Encoded when first needed: the function of a recursive type is not complete yet.
        encoded: list[bytes] = []

        def append(out: bytearray) -> None:
            if not encoded:
                written = bytearray()
                write(written, value, DATA_DEPTH_MAX)
                encoded.append(bytes(written))
            out += encoded[0]

        return append


def within(error: DoesNotEncode, step: str) -> DoesNotEncode:
    """The error, as seen from one level further out."""
    return DoesNotEncode(error.reason, f"{step}/{error.path}" if error.path else step)


# -- the bytes of each type ------------------------------------------------------------------------


def write_long(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def _integer(kind: str, bits: int) -> Write:
    lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def write(out: bytearray, value: Any, depth: int) -> None:
        if not isinstance(value, int) or value is True or value is False:
            raise _unfit(value, kind)
        if not lowest <= value <= highest:
            raise DoesNotEncode(f"the number is no {kind}, which has {bits} bits")
        write_long(out, value)

    return write


def _number(kind: str, form: Struct) -> Write:
    def write(out: bytearray, value: Any, depth: int) -> None:
        if not isinstance(value, float | int) or isinstance(value, bool):
            raise _unfit(value, kind)
        try:
            out += form.pack(value)
        except (OverflowError, StructError):
            raise DoesNotEncode(f"the number is too large for a {kind}") from None

    return write


def _write_null(out: bytearray, value: Any, depth: int) -> None:
    if value is not None:
        raise _unfit(value, "null")


def _write_boolean(out: bytearray, value: Any, depth: int) -> None:
    if value is not True and value is not False:
        raise _unfit(value, "boolean")
    out.append(value)


def _write_bytes(out: bytearray, value: Any, depth: int) -> None:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _unfit(value, "bytes")
    data = bytes(value)
    write_long(out, len(data))
    out += data


def _write_string(out: bytearray, value: Any, depth: int) -> None:
    if not isinstance(value, str):
        raise _unfit(value, "string")
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise DoesNotEncode("the text has half a surrogate pair, which UTF-8 cannot have") from None
    write_long(out, len(data))
    out += data


_PRIMITIVES: Final[dict[str, Write]] = {
    "null": _write_null,
    "boolean": _write_boolean,
    "int": _integer("int", 32),
    "long": _integer("long", 64),
    "float": _number("float", _FLOAT),
    "double": _number("double", _DOUBLE),
    "bytes": _write_bytes,
    "string": _write_string,
}


def _fixed(size: int) -> Write:
    def write(out: bytearray, value: Any, depth: int) -> None:
        if not isinstance(value, bytes | bytearray):
            raise _unfit(value, "fixed")
        if len(value) != size:
            raise DoesNotEncode(f"the fixed has {size} bytes, and the value {len(value)}")
        out += value

    return write


def _logical(write: Write, meant: LogicalType | None) -> Write:
    if meant is None:
        return write
    data_of, name = meant.data_of, meant.name

    def write_meaning(out: bytearray, value: Any, depth: int) -> None:
        try:
            data = data_of(value)
        except (ValueError, OverflowError) as error:
            raise DoesNotEncode(f"the value is no {name}: {error}") from None
        write(out, data, depth)

    return write_meaning


def _enumeration(symbols: Sequence[str]) -> Write:
    numbers = {symbol: number for number, symbol in enumerate(symbols)}

    def write(out: bytearray, value: Any, depth: int) -> None:
        number = numbers.get(value) if isinstance(value, str) else None
        if number is None:
            raise DoesNotEncode(f"{_shown(value)} is none of the symbols {', '.join(symbols)}")
        write_long(out, number)

    return write


def _array(item: Write) -> Write:
    def write(out: bytearray, value: Any, depth: int) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
            raise _unfit(value, "array")
        if depth <= 0:
            raise _too_deep()
        if value:
            write_long(out, len(value))
            for index, each in enumerate(value):
                try:
                    item(out, each, depth - 1)
                except DoesNotEncode as error:
                    raise within(error, str(index)) from None
        out.append(0)

    return write


def _map(inner: Write) -> Write:
    def write(out: bytearray, value: Any, depth: int) -> None:
        if not isinstance(value, Mapping):
            raise _unfit(value, "map")
        if depth <= 0:
            raise _too_deep()
        if value:
            write_long(out, len(value))
            for key, each in value.items():
                _write_string(out, key, depth)
                try:
                    inner(out, each, depth - 1)
                except DoesNotEncode as error:
                    raise within(error, key) from None
        out.append(0)

    return write


# -- unions ----------------------------------------------------------------------------------------

_PYTHON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (float,),
    "double": (float,),
    "bytes": (bytes, bytearray, memoryview),
    "string": (str,),
    "fixed": (bytes, bytearray),
    "enum": (str,),
    "array": (Sequence,),
    "map": (Mapping,),
    "record": (Mapping,),
    "error": (Mapping,),
}


def _union(branches: Sequence[AvroType], writers: Sequence[Write]) -> Write:
    natural = [_natural_types(branch) for branch in branches]
    full_names = {_branch_name(branch): index for index, branch in enumerate(branches)}
    names = {name.rpartition(".")[2]: index for name, index in full_names.items()} | full_names

    def write(out: bytearray, value: Any, depth: int) -> None:
        if isinstance(value, tuple) and (isinstance(value, Branch) or (len(value) == 2 and value[0] in names)):
            index = value.number if isinstance(value, Branch) else names[str(value[0])]
            write_long(out, index)
            writers[index](out, value[1], depth)
            return
        first = [index for index, types in enumerate(natural) if isinstance(value, types)]
        start = len(out)
        failures: list[DoesNotEncode] = []
        for index in (*first, *(each for each in range(len(writers)) if each not in first)):
            write_long(out, index)
            try:
                writers[index](out, value, depth)
            except DoesNotEncode as error:
                del out[start:]
                failures.append(error)
            else:
                return
        if len(first) == 1:
            raise failures[0]
        raise DoesNotEncode(f"{_shown(value)} fits none of the branches {', '.join(full_names)}")

    return write


def _natural_types(branch: AvroType) -> tuple[type, ...]:
    meant = logical_type_of(branch)
    return (meant.python_type,) if meant is not None else _PYTHON_TYPES[branch.kind]


def _branch_name(branch: AvroType) -> str:
    return branch.name.full if isinstance(branch, Fixed | Enumeration | Record) else branch.kind


def _unfit(value: object, kind: str) -> DoesNotEncode:
    return DoesNotEncode(f"{_shown(value)} is no {kind}")


def _too_deep() -> DoesNotEncode:
    return DoesNotEncode(f"the value is nested more than {DATA_DEPTH_MAX} deep")


def _shown(value: object) -> str:
    """A value for an error: its type always, and itself if it is short."""
    if value is None:
        return "None"
    text = repr(value) if isinstance(value, str | bytes | int | float) and not (isinstance(value, int) and abs(value) >> 64) else ""
    return f"the {type(value).__name__} {text}" if 0 < len(text) <= 50 else f"a value of type {type(value).__name__}"
