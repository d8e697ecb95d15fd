"""Whether the columns of a sink fit the schema that it writes with. Pure."""

from __future__ import annotations

from collections.abc import Collection

from barnabas.pipelines.column_types import BIGINT, DOUBLE, FLOAT, INT, Array, ColumnType, Decimal, Map, Struct, spark_name

_WIDER = frozenset({(INT, BIGINT), (FLOAT, DOUBLE)})


def misfit(columns: Struct, wanted: Struct, required: Collection[str] = ()) -> str | None:
    """A clause about the first difference, or None. ``required`` are columns of ``wanted`` that may
    not be missing."""
    present = {name for name, _ in columns.fields}
    for name in sorted(required):
        if name not in present:
            return f"it has the field {name!r}, and there is no such column"
    return _misfit(columns, wanted, "")


def _misfit(given: ColumnType, wanted: ColumnType, path: str) -> str | None:
    match given, wanted:
        case Struct(), Struct():
            kinds = dict(wanted.fields)
            for name, kind in given.fields:
                place = f"{path}.{name}" if path else name
                if name not in kinds:
                    return f"it has no field for the column {place!r}"
                if (found := _misfit(kind, kinds[name], place)) is not None:
                    return found
            return None
        case Array(), Array():
            return _misfit(given.element, wanted.element, f"{path}[]")
        case Map(), Map():
            return _misfit(given.key, wanted.key, f"{path}{{}}") or _misfit(given.value, wanted.value, f"{path}{{}}")
        case Decimal(), Decimal():
            whole, wanted_whole = given.precision - given.scale, wanted.precision - wanted.scale
            fits = given.scale <= wanted.scale and whole <= wanted_whole
        case _:
            fits = given == wanted or (given, wanted) in _WIDER
    return None if fits else f"the column {path!r} is {spark_name(given)}, and its field needs {spark_name(wanted)}"
