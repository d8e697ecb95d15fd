"""Compiles expressions of Spark's SQL to DuckDB's, with their types.

Each kind of node has a rule that names the parts of the node that it knows. A node without a rule,
or a part that its rule does not know, raises :class:`NotProven`: nothing is passed on to DuckDB
unread.

Spark's arithmetic is strict: overflow, division by zero, an index out of bounds and a text that is
no number are errors. DuckDB has null or infinity for some of these, so our SQL raises the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sqlglot import exp

from barnabas.pipelines.column_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    VOID,
    Array,
    ColumnType,
    Decimal,
    Map,
    duckdb_name,
)
from barnabas.pipelines.sql.embedded.functions import AGGREGATES, RANKS, SCALARS, SHIFTS, call, call_aggregate, substring, trim, whole
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.embedded.scopes import Scope, field_of
from barnabas.pipelines.sql.embedded.values import (
    INTEGERS,
    ORDERED,
    Value,
    common,
    decimal_of,
    fail,
    is_number,
    leave_to_spark,
    text_literal,
    timestamp_literal,
)
from barnabas.pipelines.sql.moments import micros_of

_DIVISION_BY_ZERO = fail("Division by zero")
_UNIT_MICROS = {"SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 604_800_000_000}
_INTEGER_TEXT = r"[+-]?[0-9]+"
_NUMBER_TEXT = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
# Texts with these letters are certainly no numbers. Spark trims texts, and takes words such as
# Infinity for numbers.
_NO_INTEGER = "[A-Za-z]"
_NO_NUMBER = "[ghjklmoqrsuvwzGHJKLMOQRSUVWZ]"
_DECIMAL = re.compile(r"(\d*)\.(\d*)")


class Subqueries(Protocol):
    """Compiles a subquery to SQL, with the types of its columns."""

    def __call__(self, query: exp.Expr, outer: Scope) -> tuple[str, list[ColumnType]]: ...


@dataclass(slots=True)
class Expressions:
    """For one SELECT. ``aliases``: of its columns, which ORDER BY, GROUP BY and HAVING may use."""

    scope: Scope
    now_micros: int
    subquery: Subqueries
    aliases: Mapping[str, Value] = field(default_factory=dict)
    aliases_first: bool = False

    def compile(self, node: exp.Expr) -> Value:
        rule = _RULES.get(type(node))
        if rule is None:
            raise NotProven(f"{type(node).__name__} in an expression")
        parts, function = rule
        only(node, *parts)
        return function(self, node)

    def condition(self, node: exp.Expr) -> Value:
        found = self.compile(node)
        if found.type not in (BOOLEAN, VOID):
            raise NotProven("a condition that is no boolean")
        return found

    # Names and constants

    def column(self, node: exp.Column) -> Value:
        parts = [each.name for each in node.parts]
        if isinstance(node.this, exp.Star):
            raise NotProven("a star inside an expression")
        if len(parts) == 1 and (alias := self.aliases.get(parts[0].lower())) is not None:
            known = self.scope.find(parts) is not None
            if self.aliases_first or not known:
                return alias
        return self.scope.resolve(parts)

    def dot(self, node: exp.Dot) -> Value:
        if not isinstance(node.expression, exp.Identifier):
            raise NotProven("a dot before other than a name")
        return replace(field_of(self.compile(node.this), node.expression.name), alias=None)

    def literal(self, node: exp.Literal) -> Value:
        text = node.this
        if node.is_string:
            return Value(text_literal(text), STRING, text, text)
        if text.isdecimal() and text.isascii():
            return _integer(int(text))
        if (found := _DECIMAL.fullmatch(text)) is not None and text.isascii():
            before = found[1].lstrip("0")
            kind = Decimal(max(len(before) + len(found[2]), 1), len(found[2]))
            if kind.precision <= DECIMAL_PRECISION_MAX and found[2]:
                return Value(f"CAST('{text}' AS {duckdb_name(kind)})", kind, text if found[1] else None)
        try:
            number = float(text)
        except ValueError:
            raise NotProven(f"the number {text}") from None
        if "e" not in text.lower():
            raise NotProven(f"the number {text}")
        return Value(f"CAST('{number!r}' AS DOUBLE)", DOUBLE)

    def boolean(self, node: exp.Boolean) -> Value:
        return Value("TRUE" if node.this else "FALSE", BOOLEAN, "true" if node.this else "false")

    def null(self, node: exp.Null) -> Value:
        return Value("NULL", VOID, "NULL")

    def paren(self, node: exp.Paren) -> Value:
        return replace(self.compile(node.this), alias=None)

    def now(self, node: exp.Expr) -> Value:
        return timestamp_literal(self.now_micros, "current_timestamp()")

    def today(self, node: exp.Expr) -> Value:
        return Value(f"CAST({timestamp_literal(self.now_micros).sql} AS DATE)", DATE, "current_date()")

    # Operators

    def negative(self, node: exp.Neg) -> Value:
        value = self.compile(node.this)
        if isinstance(value.literal, int) and value.type in INTEGERS:
            return _integer(-value.literal)
        if value.type not in (*INTEGERS, DOUBLE) and not isinstance(value.type, Decimal):
            raise NotProven("the negative of other than a number")
        constant = isinstance(node.this, exp.Literal)
        name = None if value.name is None else f"-{value.name}" if constant else f"(- {value.name})"
        return Value(f"(- {value.sql})", value.type, name)

    def arithmetic(self, node: exp.Binary) -> Value:
        sign = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}[type(node)]
        if isinstance(node.expression, exp.Interval) and sign in "+-":
            return self._shifted(self.compile(node.this), node.expression, 1 if sign == "+" else -1)
        left, right = self.compile(node.this), self.compile(node.expression)
        name = _between(left, sign, right)
        if DOUBLE in (left.type, right.type) or {left.type, right.type} <= {*INTEGERS}:
            if not (is_number(left.type) and is_number(right.type)):
                raise NotProven("arithmetic with other than numbers")
            one, other = common(left, right)
            return Value(f"({one.sql} {sign} {other.sql})", one.type, name)
        if not (is_number(left.type) and is_number(right.type)):
            raise NotProven("arithmetic with other than numbers")
        first, second = decimal_of(left), decimal_of(right)
        kind = _product(first, second) if sign == "*" else _sum(first, second)
        if kind.precision > DECIMAL_PRECISION_MAX:
            raise NotProven("decimals of too many digits")
        one_sql, other_sql = (f"CAST({each.sql} AS {duckdb_name(own)})" for each, own in ((left, first), (right, second)))
        return Value(f"CAST({one_sql} {sign} {other_sql} AS {duckdb_name(kind)})", kind, name)

    def _shifted(self, at: Value, interval: exp.Interval, sign: int) -> Value:
        only(interval, "this", "unit")
        unit = interval.args["unit"].name.upper().rstrip("S") if isinstance(interval.args.get("unit"), exp.Var) else ""
        amount = interval.this.name if isinstance(interval.this, exp.Literal) else ""
        if at.type != TIMESTAMP or unit not in _UNIT_MICROS or not amount.isdecimal() or len(amount) > 9:
            raise NotProven("an interval of that form")
        micros = sign * int(amount) * _UNIT_MICROS[unit]
        if isinstance(at.literal, int):
            return timestamp_literal(at.literal + micros)
        return Value(f"({at.sql} + to_microseconds({micros}::BIGINT))", TIMESTAMP)

    def divided(self, node: exp.Binary) -> Value:
        left, right = self.compile(node.this), self.compile(node.expression)
        kinds = {left.type, right.type}
        if not kinds <= {*INTEGERS, DOUBLE} and DOUBLE not in kinds:
            raise NotProven("a division of other than integers and doubles")
        if not (is_number(left.type) and is_number(right.type)):
            raise NotProven("a division of other than numbers")
        one, other = (f"CAST({each.sql} AS DOUBLE)" for each in (left, right))
        return Value(_checked_division(one, other, f"{one} / {other}"), DOUBLE, _between(left, "/", right))

    def divided_integers(self, node: exp.IntDiv) -> Value:
        left, right = self.compile(node.this), self.compile(node.expression)
        if not {left.type, right.type} <= {*INTEGERS}:
            raise NotProven("DIV of other than integers")
        one, other = (f"CAST({each.sql} AS BIGINT)" for each in (left, right))
        return Value(_checked_division(one, other, f"{one} // {other}"), BIGINT, _between(left, "div", right))

    def remainder(self, node: exp.Mod) -> Value:
        left, right = self.compile(node.this), self.compile(node.expression)
        if not {left.type, right.type} <= {*INTEGERS}:
            raise NotProven("the remainder of other than integers")
        one, other = common(left, right)
        return Value(_checked_division(one.sql, other.sql, f"{one.sql} % {other.sql}"), one.type, _between(left, "%", right))

    def comparison(self, node: exp.Binary) -> Value:
        sign = _COMPARISONS[type(node)]
        left, right = self.compile(node.this), self.compile(node.expression)
        one, other = common(left, right)
        if one.type not in (*ORDERED, VOID) and not isinstance(one.type, Decimal) and not (one.type == BINARY and sign == "="):
            raise NotProven("a comparison of that type")
        # Spark simplifies the constant of some of these before it names the column.
        name = None if sign == "<>" or isinstance(one.type, Decimal) else _between(left, sign, right)
        return Value(f"({one.sql} {'IS NOT DISTINCT FROM' if sign == '<=>' else sign} {other.sql})", BOOLEAN, name)

    def both(self, node: exp.Connector) -> Value:
        word = "AND" if isinstance(node, exp.And) else "OR"
        left, right = self.condition(node.this), self.condition(node.expression)
        return Value(f"({left.sql} {word} {right.sql})", BOOLEAN, _between(left, word, right))

    def negation(self, node: exp.Not) -> Value:
        return Value(f"(NOT {self.condition(node.this).sql})", BOOLEAN)

    def is_(self, node: exp.Is) -> Value:
        value = self.compile(node.this)
        if isinstance(node.expression, exp.Null):
            return Value(f"({value.sql} IS NULL)", BOOLEAN, None if value.name is None else f"({value.name} IS NULL)")
        if isinstance(node.expression, exp.Boolean) and value.type == BOOLEAN:
            return Value(f"({value.sql} IS NOT DISTINCT FROM {self.compile(node.expression).sql})", BOOLEAN)
        raise NotProven("IS with other than NULL, TRUE and FALSE")

    def between(self, node: exp.Between) -> Value:
        values = [self.compile(each) for each in (node.this, node.args["low"], node.args["high"])]
        pairs = [common(values[0], each) for each in values[1:]]
        for one, _ in pairs:
            if one.type not in ORDERED and not isinstance(one.type, Decimal):
                raise NotProven("BETWEEN of that type")
        (one, low), (same, high) = pairs
        return Value(f"({one.sql} >= {low.sql} AND {same.sql} <= {high.sql})", BOOLEAN)

    def in_(self, node: exp.In) -> Value:
        value = self.compile(node.this)
        if node.args.get("query") is not None:
            sql, kinds = self.subquery(node.args["query"], self.scope)
            if kinds != [value.type] or value.type not in ORDERED:
                raise NotProven("IN with a subquery of another type")
            return Value(f"({value.sql} IN ({sql}))", BOOLEAN)
        first, *others = common(value, *(self.compile(each) for each in node.expressions))
        if first.type not in ORDERED and not isinstance(first.type, Decimal):
            raise NotProven("IN of that type")
        return Value(f"({first.sql} IN ({', '.join(each.sql for each in others)}))", BOOLEAN)

    def like(self, node: exp.Like) -> Value:
        text, pattern = self.compile(node.this), self.compile(node.expression)
        if text.type != STRING or not isinstance(pattern.literal, str) or "\\" in pattern.literal:
            raise NotProven("LIKE with other than a constant without backslashes")
        return Value(f"({text.sql} LIKE {pattern.sql})", BOOLEAN)

    def joined(self, node: exp.DPipe) -> Value:
        left, right = self.compile(node.this), self.compile(node.expression)
        if {left.type, right.type} != {STRING}:
            raise NotProven("|| of other than texts")
        return Value(f"({left.sql} || {right.sql})", STRING)

    def item(self, node: exp.Bracket) -> Value:
        """``array[0]``, ``_headers['trace']``"""
        if len(node.expressions) != 1 or node.args.get("offset"):
            raise NotProven("brackets of that form")
        value, index = self.compile(node.this), self.compile(node.expressions[0])
        name = None if value.name is None or index.name is None else f"{value.name}[{index.name}]"
        if isinstance(value.type, Map) and index.type == STRING:
            return Value(f"({value.sql}[{index.sql}])", STRING, name)
        if isinstance(value.type, Array) and index.type in INTEGERS:
            outside = f"{index.sql} < 0 OR {index.sql} >= len({value.sql})"
            sql = f"CASE WHEN {outside} THEN {fail('An index is outside of its array')} ELSE {value.sql}[{index.sql} + 1] END"
            return Value(sql, value.type.element, name)
        raise NotProven("brackets after that type")

    # Conditions and conversions

    def case(self, node: exp.Case) -> Value:
        branches = node.args["ifs"]
        operand = None if node.this is None else self.compile(node.this)
        conditions = []
        for each in branches:
            if operand is None:
                conditions.append(self.condition(each.this).sql)
            else:
                one, other = common(operand, self.compile(each.this))
                if one.type not in ORDERED:
                    raise NotProven("CASE of that type")
                conditions.append(f"{one.sql} = {other.sql}")
        default = node.args.get("default")
        results = common(*(self.compile(each.args["true"]) for each in branches), self.compile(default) if default else Value("NULL", VOID))
        whens = " ".join(f"WHEN {condition} THEN {result.sql}" for condition, result in zip(conditions, results, strict=False))
        return Value(f"(CASE {whens} ELSE {results[-1].sql} END)", results[0].type)

    def if_(self, node: exp.If) -> Value:
        condition = self.condition(node.this)
        false = node.args.get("false")
        yes, no = common(self.compile(node.args["true"]), self.compile(false) if false else Value("NULL", VOID))
        return Value(f"(CASE WHEN {condition.sql} THEN {yes.sql} ELSE {no.sql} END)", yes.type)

    def cast(self, node: exp.Cast) -> Value:
        return self._cast(node, fail("A text is not a number, and cannot be CAST to one"))

    def try_cast(self, node: exp.TryCast) -> Value:
        return self._cast(node, "NULL")

    def _cast(self, node: exp.Cast, otherwise: str) -> Value:
        written = node.args["to"]
        kind = _CAST_TYPES.get(written.this)
        if kind is None or written.expressions:
            raise NotProven(f"CAST to {written.sql('spark')}")
        value = self.compile(node.this)
        if kind == TIMESTAMP and isinstance(value.literal, str) and (micros := micros_of(value.literal)) is not None:
            return timestamp_literal(micros)
        if kind == DATE and isinstance(value.literal, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value.literal) and micros_of(value.literal):
            return Value(f"DATE '{value.literal}'", DATE)
        sql = _cast_sql(value, kind, otherwise, is_try=isinstance(node, exp.TryCast))
        if isinstance(node, exp.TryCast) or not isinstance(node.this, exp.Column) or value.alias is not None:
            return Value(sql, kind)
        # Spark calls the column like the one that is cast.
        return Value(sql, kind, f"CAST({value.name} AS {kind.name.upper()})", alias=value.name)

    # Functions and subqueries

    def function(self, node: exp.Anonymous) -> Value:
        name = node.this.lower() if isinstance(node.this, str) else ""
        if name in ("now", "current_timestamp") and not node.expressions:
            return timestamp_literal(self.now_micros, f"{name}()")
        if name in ("current_date", "curdate") and not node.expressions:
            return replace(self.today(node), name="current_date()" if name == "current_date" else None)
        if name in AGGREGATES:
            return self.aggregate(node, "")
        if name not in SCALARS:
            raise NotProven(f"the function {name}")
        return call(name, self._arguments(node))

    def _arguments(self, node: exp.Anonymous) -> list[Value]:
        return [self.compile(each) for each in node.expressions]

    def aggregate(self, node: exp.Expr, after: str) -> Value:
        if not isinstance(node, exp.Anonymous):
            raise NotProven("OVER or FILTER after other than a function")
        name = str(node.this).lower()
        if name == "count" and len(node.expressions) == 1:
            argument = node.expressions[0]
            if isinstance(argument, exp.Star):
                only(argument)
                return Value(f"CAST(count(*){after} AS BIGINT)", BIGINT, "count(1)")
            if isinstance(argument, exp.Distinct):
                only(argument, "expressions")
                if len(argument.expressions) != 1 or after.startswith(" OVER"):
                    raise NotProven("DISTINCT of several columns, or with OVER")
                value = self.compile(argument.expressions[0])
                if value.type not in ORDERED:
                    raise NotProven("count(DISTINCT) of that type")
                named = None if value.name is None else f"count(DISTINCT {value.name})"
                return Value(f"CAST(count(DISTINCT {value.sql}){after} AS BIGINT)", BIGINT, named)
        return call_aggregate(name, self._arguments(node), after)

    def filtered(self, node: exp.Filter) -> Value:
        only(node.expression, "this")
        condition = self.condition(node.expression.this)
        return replace(self.aggregate(node.this, f" FILTER (WHERE {condition.sql})"), name=None)

    def window(self, node: exp.Window) -> Value:
        """Without a frame of its own: both engines then have the same."""
        parts = [self.compile(each) for each in node.args.get("partition_by") or []]
        by = f"PARTITION BY {', '.join(each.sql for each in parts)} " if parts else ""
        order = node.args.get("order")
        over = f" OVER ({by}{self.order(order) if order is not None else ''})"
        name = str(node.this.this).lower() if isinstance(node.this, exp.Anonymous) else ""
        if any(part.type not in ORDERED for part in parts):
            raise NotProven("PARTITION BY of that type")
        if name in RANKS and order is not None and not node.this.expressions:
            return Value(f"CAST({name}(){over} AS INTEGER)", INT)
        if name in SHIFTS and order is not None:
            value, *others = self._arguments(node.this)
            if len(others) > 1 or (others and not isinstance(others[0].literal, int)):
                raise NotProven(f"{name} of that form")
            return Value(f"{name}({value.sql}, {others[0].literal if others else 1}){over}", value.type)
        return replace(self.aggregate(node.this, over), name=None)

    def order(self, node: exp.Order) -> str:
        only(node, "expressions")
        return "ORDER BY " + ", ".join(self.ordered(each, self.compile(each.this)) for each in node.expressions)

    def ordered(self, node: exp.Expr, value: Value) -> str:
        if not isinstance(node, exp.Ordered):
            raise NotProven("that ORDER BY")
        only(node, "this", "desc", "nulls_first")
        if value.type not in (*ORDERED, VOID) and not isinstance(value.type, Decimal):
            raise NotProven("ORDER BY of that type")
        # sqlglot fills in Spark's rule: nulls come first where the order ascends.
        return f"{value.sql} {'DESC' if node.args.get('desc') else 'ASC'} NULLS {'FIRST' if node.args.get('nulls_first') else 'LAST'}"

    def trimmed(self, node: exp.Trim) -> Value:
        value = self.compile(node.this)
        found = trim(value)
        return replace(found, name=None if value.name is None else f"trim({value.name})")

    def part_of_text(self, node: exp.Substring) -> Value:
        arguments = [self.compile(each) for each in (node.this, node.args["start"], node.args.get("length")) if each is not None]
        return substring(*arguments)

    def whole_below(self, node: exp.Floor) -> Value:
        return whole("floor", self.compile(node.this))

    def whole_above(self, node: exp.Ceil) -> Value:
        return whole("ceil", self.compile(node.this))

    def extracted(self, node: exp.Extract) -> Value:
        value = call(node.this.name.lower(), [self.compile(node.expression)])
        if node.this.name.lower() not in ("year", "month", "day", "hour", "minute", "quarter"):
            raise NotProven("EXTRACT of that unit")
        return replace(value, name=None)

    def scalar_subquery(self, node: exp.Subquery) -> Value:
        sql, kinds = self.subquery(node, self.scope)
        if len(kinds) != 1:
            raise NotProven("a subquery of several columns")
        return Value(f"({sql})", kinds[0])

    def exists(self, node: exp.Exists) -> Value:
        sql, _ = self.subquery(node.this, self.scope)
        return Value(f"EXISTS ({sql})", BOOLEAN)


def only(node: exp.Expr, *parts: str) -> None:
    """Raises ``NotProven`` if the node has a part that the caller does not read."""
    for name, part in node.args.items():
        if name not in parts and part:
            raise NotProven(f"{type(node).__name__.upper()} with {name.strip('_')}")


def _integer(number: int) -> Value:
    if -(2**31) <= number < 2**31:
        return Value(f"({number}::INTEGER)", INT, str(number), number)
    if -(2**63) <= number < 2**63:
        return Value(f"(CAST('{number}' AS BIGINT))", BIGINT, str(number), number)
    raise NotProven("an integer beyond 64 bits")


def _between(left: Value, sign: str, right: Value) -> str | None:
    return None if left.name is None or right.name is None else f"({left.name} {sign} {right.name})"


def _checked_division(dividend: str, divisor: str, sql: str) -> str:
    return f"(CASE WHEN {dividend} IS NOT NULL AND {divisor} = 0 THEN {_DIVISION_BY_ZERO} ELSE {sql} END)"


def _sum(first: Decimal, second: Decimal) -> Decimal:
    scale = max(first.scale, second.scale)
    return Decimal(max(first.precision - first.scale, second.precision - second.scale) + scale + 1, scale)


def _product(first: Decimal, second: Decimal) -> Decimal:
    return Decimal(first.precision + second.precision + 1, first.scale + second.scale)


def _cast_sql(value: Value, kind: ColumnType, otherwise: str, *, is_try: bool) -> str:
    word = "TRY_CAST" if is_try else "CAST"
    simple = f"{word}({value.sql} AS {duckdb_name(kind)})"
    match value.type, kind:
        case (one, other) if one == other:
            return value.sql
        case (one, _) if one == VOID:
            return simple
        case (one, other) if one in INTEGERS and other in (*INTEGERS, DOUBLE, STRING):
            return simple
        case (one, other) if (one, other) in ((DATE, TIMESTAMP), (TIMESTAMP, DATE), (DATE, STRING)):
            return simple
        case (one, other) if one == BOOLEAN and other in (STRING, *INTEGERS):
            return simple
        case (one, other) if one == DOUBLE and other in INTEGERS:
            return f"{word}(trunc({value.sql}) AS {duckdb_name(kind)})"
        case (one, other) if isinstance(one, Decimal) and other == STRING and one.scale == 0:
            return simple
        case (one, other) if one == STRING and other in (*INTEGERS, DOUBLE):
            pattern, never = (_INTEGER_TEXT, _NO_INTEGER) if other in INTEGERS else (_NUMBER_TEXT, _NO_NUMBER)
            return (
                f"(CASE WHEN {value.sql} IS NULL THEN NULL"
                f" WHEN regexp_full_match({value.sql}, '{pattern}') THEN {simple}"
                f" WHEN regexp_matches({value.sql}, '{never}') THEN {otherwise}"
                f" ELSE {leave_to_spark('a text that may be a number')} END)"
            )
        case _:
            raise NotProven("CAST between these types")


_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "<=>",
}
_CAST_TYPES = {
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.VARCHAR: STRING,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMP: TIMESTAMP,
}
_PAIR = ("this", "expression")
_RULES: dict[type[exp.Expr], tuple[tuple[str, ...], Callable[[Expressions, Any], Value]]] = {
    exp.Column: (("this", "table", "db", "catalog"), Expressions.column),
    exp.Dot: (_PAIR, Expressions.dot),
    exp.Literal: (("this", "is_string"), Expressions.literal),
    exp.Boolean: (("this",), Expressions.boolean),
    exp.Null: ((), Expressions.null),
    exp.Paren: (("this",), Expressions.paren),
    exp.CurrentTimestamp: ((), Expressions.now),
    exp.CurrentDate: ((), Expressions.today),
    exp.Neg: (("this",), Expressions.negative),
    exp.Add: (_PAIR, Expressions.arithmetic),
    exp.Sub: (_PAIR, Expressions.arithmetic),
    exp.Mul: (_PAIR, Expressions.arithmetic),
    # sqlglot notes whether the dialect's division is typed and safe; ours is Spark's.
    exp.Div: ((*_PAIR, "typed", "safe"), Expressions.divided),
    exp.IntDiv: (_PAIR, Expressions.divided_integers),
    exp.Mod: (_PAIR, Expressions.remainder),
    **dict.fromkeys(_COMPARISONS, (_PAIR, Expressions.comparison)),
    exp.And: (_PAIR, Expressions.both),
    exp.Or: (_PAIR, Expressions.both),
    exp.Not: (("this",), Expressions.negation),
    exp.Is: (_PAIR, Expressions.is_),
    exp.Between: (("this", "low", "high"), Expressions.between),
    exp.In: (("this", "expressions", "query"), Expressions.in_),
    exp.Like: (_PAIR, Expressions.like),
    exp.DPipe: ((*_PAIR, "safe"), Expressions.joined),
    exp.Bracket: (("this", "expressions"), Expressions.item),
    exp.Case: (("this", "ifs", "default"), Expressions.case),
    exp.If: (("this", "true", "false"), Expressions.if_),
    exp.Cast: (("this", "to"), Expressions.cast),
    exp.TryCast: (("this", "to", "safe"), Expressions.try_cast),
    exp.Anonymous: (("this", "expressions"), Expressions.function),
    exp.Filter: (_PAIR, Expressions.filtered),
    exp.Window: (("this", "partition_by", "order", "over"), Expressions.window),
    exp.Trim: (("this",), Expressions.trimmed),
    exp.Substring: (("this", "start", "length"), Expressions.part_of_text),
    exp.Floor: (("this",), Expressions.whole_below),
    exp.Ceil: (("this",), Expressions.whole_above),
    exp.Extract: (_PAIR, Expressions.extracted),
    exp.Subquery: (("this",), Expressions.scalar_subquery),
    exp.Exists: (("this",), Expressions.exists),
}
