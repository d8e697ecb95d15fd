"""The functions that give the same result in DuckDB as in Spark, by name.

``tests/pipelines/sql/test_conformance.py`` asks both engines about each of them. A function that is
missing here is left to Spark. So are arguments for which the two differ: SQL of ours raises an
error for such a row (:func:`~.values.leave_to_spark`), and the query starts again in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from barnabas.pipelines.column_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    duckdb_name,
)
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.embedded.values import INTEGERS, ORDERED, Value, cast, common, leave_to_spark

Rule = Callable[..., Value]
# Digits of a double that decimal arithmetic of DuckDB converts back without loss: 15, of which six
# may follow the point.
_ROUND_SCALE_MAX = 6
_ROUND_ABSOLUTE_MAX = 1e9
_TRUNCATIONS = frozenset({"year", "quarter", "month", "week", "day", "hour", "minute", "second"})


def call(name: str, arguments: Sequence[Value]) -> Value:
    return _apply(SCALARS, name, arguments)


def call_aggregate(name: str, arguments: Sequence[Value], after: str = "") -> Value:
    """``after``: FILTER or OVER."""
    found = _apply(AGGREGATES, name, arguments)
    return replace(found, sql=f"CAST({found.sql}{after} AS {duckdb_name(found.type)})")


def _apply(rules: Mapping[str, Rule], name: str, arguments: Sequence[Value]) -> Value:
    rule = rules.get(name)
    if rule is None:
        raise NotProven(f"the function {name}")
    try:
        found = rule(*arguments)
    except TypeError as error:
        raise NotProven(f"{len(arguments)} arguments of {name}") from error
    return found if found.name is not None else _named(found, name, arguments)


def _named(value: Value, name: str, arguments: Sequence[Value]) -> Value:
    names = [each.name for each in arguments]
    known = [each for each in names if each is not None]
    if name in _UNNAMED or len(known) < len(names):
        return value
    return Value(value.sql, value.type, f"{name}({', '.join(known)})")


def _expect(value: Value, *kinds: ColumnType) -> None:
    if value.type not in kinds:
        raise NotProven("a function of arguments of that type")


def _of_ascii(text: Value, sql: str) -> str:
    """Java's and DuckDB's tables of letters differ, so other letters are left to Spark."""
    is_ascii = f"{text.sql} IS NULL OR strlen({text.sql}) = length({text.sql})"
    return f"CASE WHEN {is_ascii} THEN {sql} ELSE {leave_to_spark('letters beyond ASCII')} END"


def _upper(text: Value) -> Value:
    _expect(text, STRING)
    return Value(_of_ascii(text, f"upper({text.sql})"), STRING)


def _lower(text: Value) -> Value:
    _expect(text, STRING)
    return Value(_of_ascii(text, f"lower({text.sql})"), STRING)


def _length(text: Value) -> Value:
    _expect(text, STRING)
    return Value(f"CAST(length({text.sql}) AS INTEGER)", INT)


def _concat(*texts: Value) -> Value:
    for each in texts:
        _expect(each, STRING)
    return Value(f"({' || '.join(each.sql for each in texts)})", STRING)


def substring(text: Value, start: Value, length: Value | None = None) -> Value:
    _expect(text, STRING)
    if not isinstance(start.literal, int) or start.literal < 1 or (length is not None and not _is_count(length)):
        raise NotProven("substring with other than constant positions")
    more = "" if length is None else f", {length.literal}"
    return Value(f"substring({text.sql}, {start.literal}{more})", STRING)


def _is_count(value: Value) -> bool:
    return isinstance(value.literal, int) and value.literal >= 0


def _left(text: Value, length: Value) -> Value:
    _expect(text, STRING)
    if not _is_count(length):
        raise NotProven("left with other than a constant length")
    return Value(f"substring({text.sql}, 1, {length.literal})", STRING)


def trim(text: Value) -> Value:
    _expect(text, STRING)
    return Value(f"trim({text.sql}, ' ')", STRING)


def _ltrim(text: Value) -> Value:
    _expect(text, STRING)
    return Value(f"ltrim({text.sql}, ' ')", STRING)


def _rtrim(text: Value) -> Value:
    _expect(text, STRING)
    return Value(f"rtrim({text.sql}, ' ')", STRING)


def _replace(text: Value, search: Value, replacement: Value) -> Value:
    _expect(text, STRING)
    if not isinstance(search.literal, str) or not search.literal or not isinstance(replacement.literal, str):
        raise NotProven("replace with other than constants")
    return Value(f"replace({text.sql}, {search.sql}, {replacement.sql})", STRING)


def _in_text(function: str) -> Rule:
    def rule(text: Value, part: Value) -> Value:
        _expect(text, STRING)
        _expect(part, STRING)
        return Value(f"{function}({text.sql}, {part.sql})", BOOLEAN)

    return rule


def _instr(text: Value, part: Value) -> Value:
    _expect(text, STRING)
    _expect(part, STRING)
    if not part.literal:
        raise NotProven("instr with other than a constant")
    return Value(f"CAST(instr({text.sql}, {part.sql}) AS INTEGER)", INT)


def _coalesce(*values: Value) -> Value:
    same = common(*values)
    return Value(f"coalesce({', '.join(each.sql for each in same)})", same[0].type)


def _two(first: Value, second: Value) -> Value:
    return _coalesce(first, second)


def _nullif(first: Value, second: Value) -> Value:
    one, other = common(first, second)
    _expect(one, *ORDERED)
    return Value(f"CASE WHEN {one.sql} = {other.sql} THEN NULL ELSE {first.sql} END", first.type)


def _extreme(function: str) -> Rule:
    def rule(*values: Value) -> Value:
        if len(values) < 2:
            raise NotProven(f"{function} of one value")
        same = common(*values)
        _expect(same[0], *ORDERED)
        return Value(f"{function}({', '.join(each.sql for each in same)})", same[0].type)

    return rule


def _abs(value: Value) -> Value:
    _expect(value, *INTEGERS, DOUBLE)
    return Value(f"abs({value.sql})", value.type)


def whole(function: str, value: Value) -> Value:
    """floor and ceil"""
    if value.type in INTEGERS:
        return Value(f"CAST({value.sql} AS BIGINT)", BIGINT)
    _expect(value, DOUBLE)
    return Value(f"CAST({function}({value.sql}) AS BIGINT)", BIGINT)


def _round(value: Value, scale: Value | None = None) -> Value:
    """Half of the last digit is rounded away from zero, as the shortest text of the number has
    it."""
    digits = 0 if scale is None else scale.literal
    if not isinstance(digits, int) or not 0 <= digits <= _ROUND_SCALE_MAX:
        raise NotProven("round to that many digits")
    if value.type in INTEGERS:
        return Value(value.sql, value.type, *_round_name(value, digits))
    _expect(value, DOUBLE)
    rounded = f"CAST(CAST(CAST({value.sql} AS VARCHAR) AS DECIMAL(38,{digits})) AS DOUBLE)"
    outside = leave_to_spark("numbers that are too large to round")
    sql = f"CASE WHEN {value.sql} IS NULL OR abs({value.sql}) < {_ROUND_ABSOLUTE_MAX:.0f} THEN {rounded} ELSE {outside} END"
    return Value(sql, DOUBLE, *_round_name(value, digits))


def _round_name(value: Value, digits: int) -> tuple[str | None]:
    return (None if value.name is None else f"round({value.name}, {digits})",)


def _sqrt(value: Value) -> Value:
    _expect(value, *INTEGERS, DOUBLE)
    return Value(f"CASE WHEN {value.sql} < 0 THEN 'NaN'::DOUBLE ELSE sqrt(CAST({value.sql} AS DOUBLE)) END", DOUBLE)


def _date_trunc(unit: Value, at: Value) -> Value:
    _expect(at, TIMESTAMP)
    if not isinstance(unit.literal, str) or unit.literal.lower() not in _TRUNCATIONS:
        raise NotProven("date_trunc with that unit")
    return Value(f"date_trunc('{unit.literal.lower()}', {at.sql})", TIMESTAMP)


def _part(function: str, *, plus: int = 0) -> Rule:
    def rule(at: Value) -> Value:
        _expect(at, TIMESTAMP, DATE)
        if at.type == DATE and function in ("hour", "minute", "second"):
            raise NotProven(f"the {function} of a date")
        return Value(f"CAST({function}({at.sql}) + {plus} AS INTEGER)", INT)

    return rule


def _date(at: Value) -> Value:
    _expect(at, TIMESTAMP, DATE)
    return Value(f"CAST({at.sql} AS DATE)", DATE)


def _since_1970(micros: int) -> Rule:
    def rule(at: Value) -> Value:
        _expect(at, TIMESTAMP)
        return Value(f"CAST(floor(epoch_us({at.sql})::DECIMAL(20,0) / {micros}) AS BIGINT)", BIGINT)

    return rule


def _moment(micros: int) -> Rule:
    # Beyond the year 9999 neither Python nor a reader has use for it.
    seconds_max = 253_402_300_799

    def rule(number: Value) -> Value:
        _expect(number, *INTEGERS)
        outside = leave_to_spark("a timestamp out of range")
        sql = f"make_timestamp(CAST({number.sql} AS BIGINT) * {micros})"
        return Value(f"CASE WHEN abs({number.sql}) > {seconds_max * 1_000_000 // micros} THEN {outside} ELSE {sql} END", TIMESTAMP)

    return rule


def _size(array: Value) -> Value:
    if not isinstance(array.type, Array):
        raise NotProven("the size of other than an array")
    return Value(f"CAST(len({array.sql}) AS INTEGER)", INT)


def _count(*values: Value) -> Value:
    if len(values) != 1:
        raise NotProven("count of several columns")
    return Value(f"count({values[0].sql})", BIGINT)


def _sum(value: Value) -> Value:
    if isinstance(value.type, Decimal):
        precision = min(value.type.precision + 10, DECIMAL_PRECISION_MAX)
        return Value(f"sum({value.sql})", Decimal(precision, value.type.scale))
    if value.type in INTEGERS:
        return Value(f"sum({value.sql})", BIGINT)
    _expect(value, DOUBLE)
    return Value(f"sum({value.sql})", DOUBLE)


def _avg(value: Value) -> Value:
    _expect(value, *INTEGERS, DOUBLE)
    return Value(f"avg({cast(value, DOUBLE).sql})", DOUBLE)


def _of_group(function: str) -> Rule:
    def rule(value: Value) -> Value:
        if not isinstance(value.type, Decimal):
            _expect(value, *ORDERED)
        return Value(f"{function}({value.sql})", value.type)

    return rule


def _count_if(condition: Value) -> Value:
    _expect(condition, BOOLEAN)
    return Value(f"count(CASE WHEN {condition.sql} THEN 1 END)", BIGINT)


def _of_conditions(function: str) -> Rule:
    def rule(condition: Value) -> Value:
        _expect(condition, BOOLEAN)
        return Value(f"{function}({condition.sql})", BOOLEAN)

    return rule


SCALARS: dict[str, Rule] = {
    "upper": _upper,
    "ucase": _upper,
    "lower": _lower,
    "lcase": _lower,
    "length": _length,
    "char_length": _length,
    "concat": _concat,
    "substring": substring,
    "substr": substring,
    "left": _left,
    "trim": trim,
    "ltrim": _ltrim,
    "rtrim": _rtrim,
    "replace": _replace,
    "startswith": _in_text("starts_with"),
    "endswith": _in_text("ends_with"),
    "contains": _in_text("contains"),
    "instr": _instr,
    "coalesce": _coalesce,
    "nvl": _two,
    "ifnull": _two,
    "nullif": _nullif,
    "greatest": _extreme("greatest"),
    "least": _extreme("least"),
    "abs": _abs,
    "floor": lambda value: whole("floor", value),
    "ceil": lambda value: whole("ceil", value),
    "ceiling": lambda value: whole("ceil", value),
    "round": _round,
    "sqrt": _sqrt,
    "date_trunc": _date_trunc,
    "year": _part("year"),
    "month": _part("month"),
    "quarter": _part("quarter"),
    "day": _part("day"),
    "dayofmonth": _part("day"),
    "dayofweek": _part("dayofweek", plus=1),
    "dayofyear": _part("dayofyear"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "date": _date,
    "to_date": _date,
    "unix_seconds": _since_1970(1_000_000),
    "unix_millis": _since_1970(1000),
    "unix_micros": _since_1970(1),
    "timestamp_seconds": _moment(1_000_000),
    "timestamp_millis": _moment(1000),
    "timestamp_micros": _moment(1),
    "size": _size,
    "cardinality": _size,
    "array_size": _size,
}
AGGREGATES: dict[str, Rule] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "min": _of_group("min"),
    "max": _of_group("max"),
    "count_if": _count_if,
    "bool_and": _of_conditions("bool_and"),
    "every": _of_conditions("bool_and"),
    "bool_or": _of_conditions("bool_or"),
    "some": _of_conditions("bool_or"),
    "any": _of_conditions("bool_or"),
}
# These exist with OVER only; aggregates may have it, too.
RANKS = ("row_number", "rank", "dense_rank")
SHIFTS = ("lag", "lead")
# Spark calls columns of these differently, so they need AS.
_UNNAMED = frozenset(
    ("any", "cardinality", "ceil", "ceiling", "char_length", "date", "day", "every", "floor", "lcase", "some", "sqrt", "substr", "ucase")
)
