"""Whether a reader's schema can read what a writer's schema wrote: Avro's schema resolution.

The rules are those of the specification, with the names that Java's Avro gives to their breaches:

    TYPE_MISMATCH                       the kinds differ, and no promotion connects them
    NAME_MISMATCH                       records, enums or fixed types of other names
    FIXED_SIZE_MISMATCH                 fixed types of other sizes
    MISSING_ENUM_SYMBOLS                a symbol that the reader does not know, and no default
    READER_FIELD_MISSING_DEFAULT_VALUE  a field that the writer lacks, and no default
    MISSING_UNION_BRANCH                a branch of the writer that no branch of the reader can read

A recursive pair of types is compatible as long as nothing else contradicts it, so a pair that is
being compared counts as compatible.
"""

from __future__ import annotations

from typing import Final

from barnabas.schemas.avro.model import Array, AvroType, Enumeration, Field, Fixed, Map, NamedType, Primitive, Record, Union
from barnabas.schemas.difference import Difference
from barnabas.schemas.steps import Steps

# From the writer's kind to the kinds that a reader may have instead.
_PROMOTIONS: Final = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}


def differences(reader: AvroType, writer: AvroType, steps: Steps | None = None) -> list[Difference]:
    """What keeps ``reader`` from reading the data of ``writer``; empty if nothing does."""
    return _Comparison(steps or Steps()).compare(reader, writer, "")


class _Comparison:
    def __init__(self, steps: Steps) -> None:
        self._known: dict[tuple[int, int], list[Difference]] = {}
        self._steps = steps

    def compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        pair = id(reader), id(writer)
        known = self._known.get(pair)
        if known is not None:
            return known
        self._steps.take()
        self._known[pair] = []
        found = self._known[pair] = self._compare(reader, writer, path)
        return found

    def _compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        match reader, writer:
            case _, Union(branches=branches) if not isinstance(reader, Union):
                return [each for branch in branches for each in self.compare(reader, branch, path)]
            case Union(), Union(branches=branches):
                return [each for index, branch in enumerate(branches) for each in self._branch(reader, branch, f"{path}/{index}")]
            case Union(), _:
                return self._branch(reader, writer, path)
            case Primitive(kind=wanted), Primitive(kind=written):
                fits = wanted == written or wanted in _PROMOTIONS.get(written, ())
                return [] if fits else [_type_mismatch(reader, writer, path)]
            case Array(items=wanted_items), Array(items=written_items):
                return self.compare(wanted_items, written_items, f"{path}/items")
            case Map(values=wanted_values), Map(values=written_values):
                return self.compare(wanted_values, written_values, f"{path}/values")
            case Fixed(), Fixed():
                return [*_names(reader, writer, path), *_sizes(reader, writer, path)]
            case Enumeration(), Enumeration():
                return [*_names(reader, writer, path), *_symbols(reader, writer, path)]
            case Record(), Record():
                return [*_names(reader, writer, path), *self._fields(reader, writer, path)]
        return [_type_mismatch(reader, writer, path)]

    def _branch(self, reader: Union, written: AvroType, path: str) -> list[Difference]:
        if any(not self.compare(branch, written, path) for branch in reader.branches):
            return []
        sentence = f"no branch of the reader's union can read the writer's {_described(written)}"
        return [Difference("MISSING_UNION_BRANCH", path or "/", sentence)]

    def _fields(self, reader: Record, writer: Record, path: str) -> list[Difference]:
        found = []
        written = {field.name: field for field in writer.fields}
        for index, field in enumerate(reader.fields):
            at = f"{path}/fields/{index}"
            source = _written(field, written)
            if source is not None:
                found += self.compare(field.type, source.type, f"{at}/type")
            elif not field.has_default:
                # The reader can leave a symbol out of an enum with a default, and no field.
                sentence = f"the writer has no field {field.name!r}, and the reader has no default for it"
                found.append(Difference("READER_FIELD_MISSING_DEFAULT_VALUE", at, sentence))
        return found


def _written(field: Field, written: dict[str, Field]) -> Field | None:
    """The writer's field of this name, or of one of its aliases."""
    return next((written[name] for name in (field.name, *field.aliases) if name in written), None)


def _names(reader: NamedType, writer: NamedType, path: str) -> list[Difference]:
    """Namespaces do not count, as in Java: only simple names are compared, and full aliases."""
    if reader.name.simple == writer.name.simple or writer.name in reader.aliases:
        return []
    sentence = f"the reader expects {reader.name.full}, and the writer wrote {writer.name.full}"
    return [Difference("NAME_MISMATCH", f"{path}/name", sentence)]


def _sizes(reader: Fixed, writer: Fixed, path: str) -> list[Difference]:
    if reader.size == writer.size:
        return []
    sentence = f"the reader expects {reader.size} bytes, and the writer wrote {writer.size}"
    return [Difference("FIXED_SIZE_MISMATCH", f"{path}/size", sentence)]


def _symbols(reader: Enumeration, writer: Enumeration, path: str) -> list[Difference]:
    known = set(reader.symbols)
    missing = [symbol for symbol in writer.symbols if symbol not in known]
    if not missing or reader.default is not None:
        return []
    sentence = f"the reader does not know the symbols {missing} and has no default"
    return [Difference("MISSING_ENUM_SYMBOLS", f"{path}/symbols", sentence)]


def _type_mismatch(reader: AvroType, writer: AvroType, path: str) -> Difference:
    sentence = f"the reader's {_described(reader)} cannot read the writer's {_described(writer)}"
    return Difference("TYPE_MISMATCH", path or "/", sentence)


def _described(type_: AvroType) -> str:
    match type_:
        case Fixed() | Enumeration() | Record():
            return f"{type_.kind} {type_.name.full}"
        case _:
            return type_.kind
