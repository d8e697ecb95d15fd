"""Compiles a query of Spark's SQL to one of DuckDB's, or raises :class:`NotProven`.

Also finds the records that the query needs: the columns of each topic, and the part of it that
conditions of WHERE on ``_timestamp``, ``_offset`` and ``_partition`` leave over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from barnabas.pipelines.column_types import BINARY, BOOLEAN, TIMESTAMP, ColumnType, Decimal
from barnabas.pipelines.sql.embedded.expressions import Expressions, only
from barnabas.pipelines.sql.embedded.not_proven import NotProven
from barnabas.pipelines.sql.embedded.scopes import Scope, Source
from barnabas.pipelines.sql.embedded.values import INTEGERS, ORDERED, Value, common
from barnabas.pipelines.sql.inference import TableShape
from barnabas.pipelines.sql.syntax import Statement, table_name

Columns = list[tuple[str | None, ColumnType]]


@dataclass(slots=True)
class Part:
    """The part of a topic that a query needs; None is no bound. ``end`` is after the last
    offset."""

    oldest_ms: int | None = None
    first: int | None = None
    end: int | None = None
    partition: int | None = None

    def narrow(self, column: str, sign: str, literal: int) -> None:
        match column, sign:
            case "_timestamp", (">" | ">=" | "="):
                # Kafka knows milliseconds: the one that the time is in may have wanted records.
                self.oldest_ms = max(literal // 1000, self.oldest_ms if self.oldest_ms is not None else literal // 1000)
            case "_partition", "=":
                self.partition = literal
            case "_offset", _:
                first = {">": literal + 1, ">=": literal, "=": literal}.get(sign)
                end = {"<": literal, "<=": literal + 1, "=": literal + 1}.get(sign)
                if first is not None:
                    self.first = first if self.first is None else max(self.first, first)
                if end is not None:
                    self.end = end if self.end is None else min(self.end, end)


@dataclass(slots=True)
class TopicUse:
    """A topic of the query: the name of its table in DuckDB, its columns there, and the part that
    each of its mentions needs."""

    table: str
    used: list[int] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @property
    def part(self) -> Part:
        """What all mentions together need."""
        oldest, first, end = ([getattr(each, name) for each in self.parts] for name in ("oldest_ms", "first", "end"))
        partitions = {each.partition for each in self.parts}
        return Part(
            None if None in oldest else min(oldest),
            None if None in first else min(first),
            None if None in end else max(end),
            partitions.pop() if len(partitions) == 1 else None,
        )


@dataclass(frozen=True, slots=True)
class Compiled:
    sql: str
    columns: list[tuple[str, ColumnType]]
    topics: Mapping[str, TopicUse]
    # The answer is that many records of its one topic, whichever come first; None: it needs all.
    records_max: int | None


def compile_query(statement: Statement, shapes: Mapping[str, TableShape], *, now_micros: int, limit: int | None = None) -> Compiled:
    """``limit``: rows that the caller wants."""
    if "|>" in statement.text:
        raise NotProven("the pipe syntax")
    assert statement.tree is not None
    compiler = _QueryCompiler(shapes, now_micros)
    try:
        sql, columns = compiler.query(statement.tree, {}, None)
    except RecursionError as error:
        raise NotProven("a query that is nested deeply") from error
    names = [name for name, _ in columns if name is not None]
    if len(names) < len(columns):
        raise NotProven("a column without a name: give it one with AS")
    return Compiled(
        compiler.with_tables(sql),
        [(name, kind) for name, (_, kind) in zip(names, columns, strict=True)],
        compiler.topics,
        _records_max(statement.tree, limit),
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """A common table expression, compiled."""

    table: str
    columns: Columns


class _QueryCompiler:
    def __init__(self, shapes: Mapping[str, TableShape], now_micros: int) -> None:
        self._shapes = shapes
        self._now_micros = now_micros
        self._tables: list[str] = []  # of WITH
        self._sources = 0
        self.topics: dict[str, TopicUse] = {}

    def with_tables(self, sql: str) -> str:
        return f"WITH {', '.join(self._tables)} {sql}" if self._tables else sql

    def query(self, node: exp.Expr, named: Mapping[str, _Named], outer: Scope | None) -> tuple[str, Columns]:
        named = self._with_named(node, named, outer)
        match node:
            case exp.Subquery():
                only(node, "this")
                return self.query(node.this, named, outer)
            case exp.Select():
                return _SelectCompiler(self, named, outer).select(node)
            case exp.Union() | exp.Intersect() | exp.Except():
                return self._set_operation(node, named, outer)
        raise NotProven(type(node).__name__.upper())

    def _with_named(self, node: exp.Expr, named: Mapping[str, _Named], outer: Scope | None) -> Mapping[str, _Named]:
        ctes = node.args.get("with_")
        if ctes is None:
            return named
        only(ctes, "expressions")
        for each in ctes.expressions:
            only(each, "this", "alias")
            only(each.args["alias"], "this")
            sql, columns = self.query(each.this, named, outer)
            table = f"w{len(self._tables)}"
            self._tables.append(f"{table} AS ({sql})")
            named = {**named, each.alias.lower(): _Named(table, columns)}
        return named

    def _set_operation(self, node: exp.SetOperation, named: Mapping[str, _Named], outer: Scope | None) -> tuple[str, Columns]:
        only(node, "this", "expression", "distinct", "order", "limit", "offset", "with_")
        (left, columns), (right, others) = (self.query(each, named, outer) for each in (node.this, node.expression))
        if [kind for _, kind in columns] != [kind for _, kind in others]:
            raise NotProven("UNION of different types")
        is_distinct = bool(node.args.get("distinct"))
        if is_distinct:
            check_comparable(kind for _, kind in columns)
        elif not isinstance(node, exp.Union):
            raise NotProven("INTERSECT ALL and EXCEPT ALL")
        word = f"{type(node).__name__.upper()}{'' if is_distinct else ' ALL'}"
        outputs = [Value(f"c{index}", kind, name) for index, (name, kind) in enumerate(columns)]
        order = ""
        if node.args.get("order") is not None:
            expressions = self.expressions(Scope([]))
            order = " " + order_by(node.args["order"], outputs, expressions)
        return f"(({left}) {word} ({right})){order}{limit_of(node)}", columns

    def source(self, node: exp.Expr, named: Mapping[str, _Named], outer: Scope | None) -> tuple[str, Source]:
        internal = f"s{self._sources}"
        self._sources += 1
        alias = node.args.get("alias")
        if alias is not None:
            only(alias, "this")
        match node:
            case exp.Table():
                only(node, "this", "db", "catalog", "alias")
                if not isinstance(node.this, exp.Identifier | exp.Dot):
                    raise NotProven("a function in FROM")
                name = table_name(node)
                if name.lower() in named:
                    known = named[name.lower()]
                    return f"{known.table} AS {internal}", Source(node.alias or name, internal, known.columns)
                return self._topic(name, node.alias or name, internal)
            case exp.Subquery():
                only(node, "this", "alias")
                sql, columns = self.query(node.this, named, None)
                return f"({sql}) AS {internal}", Source(node.alias or None, internal, columns)
        raise NotProven(f"{type(node).__name__} in FROM")

    def _topic(self, name: str, alias: str, internal: str) -> tuple[str, Source]:
        shape = self._shapes[name]
        use = self.topics.setdefault(name, TopicUse(f"t{len(self.topics)}"))
        use.parts.append(Part())
        source = Source(alias, internal, shape.columns, name, shape.is_empty, use.used, use.parts[-1])
        return f"{use.table} AS {internal}", source

    def expressions(self, scope: Scope, named: Mapping[str, _Named] | None = None) -> Expressions:
        def subquery(query: exp.Expr, outer: Scope) -> tuple[str, list[ColumnType]]:
            sql, columns = self.query(query, named or {}, outer)
            return sql, [kind for _, kind in columns]

        return Expressions(scope, self._now_micros, subquery)


class _SelectCompiler:
    def __init__(self, queries: _QueryCompiler, named: Mapping[str, _Named], outer: Scope | None) -> None:
        self._queries = queries
        self._named = named
        self._scope = Scope([], outer)
        self._expressions = queries.expressions(self._scope, named)

    def select(self, node: exp.Select) -> tuple[str, Columns]:
        only(node, "expressions", "distinct", "limit", "offset", "from_", "joins", "where", "group", "having", "order", "with_")
        tables = self._from(node)
        where = ""
        if node.args.get("where") is not None:
            condition = node.args["where"].this
            where = f" WHERE {self._expressions.condition(condition).sql}"
            self._narrow(condition)
        outputs = self._outputs(node)
        self._expressions.aliases = {each.column_name.lower(): each for each in outputs if each.column_name is not None}
        group = self._group_by(node, outputs)
        having = f" HAVING {self._expressions.condition(node.args['having'].this).sql}" if node.args.get("having") is not None else ""
        order = f" {order_by(node.args['order'], outputs, self._expressions)}" if node.args.get("order") is not None else ""
        distinct = ""
        if node.args.get("distinct") is not None:
            only(node.args["distinct"])
            check_comparable(each.type for each in outputs)
            distinct = "DISTINCT "
        items = ", ".join(f"{each.sql} AS c{index}" for index, each in enumerate(outputs))
        return (
            f"SELECT {distinct}{items}{tables}{where}{group}{having}{order}{limit_of(node)}",
            [(each.column_name, each.type) for each in outputs],
        )

    def _from(self, node: exp.Select) -> str:
        if node.args.get("from_") is None:
            return ""
        sql = f" FROM {self._add(node.args['from_'].this)}"
        for join in node.args.get("joins") or []:
            only(join, "this", "side", "kind", "on")
            side, kind = join.side.upper(), join.kind.upper()
            if kind not in ("", "INNER", "OUTER", "CROSS") or side not in ("", "LEFT", "RIGHT", "FULL"):
                raise NotProven(f"{side} {kind} JOIN".strip())
            table = self._add(join.this)
            on = join.args.get("on")
            if on is None:
                if side:
                    raise NotProven(f"{side} JOIN without ON")
                sql += f" CROSS JOIN {table}"
            else:
                sql += f" {side or 'INNER'} JOIN {table} ON {self._expressions.condition(on).sql}"
        return sql

    def _add(self, node: exp.Expr) -> str:
        sql, source = self._queries.source(node, self._named, self._scope.outer)
        self._scope.sources.append(source)
        return sql

    def _narrow(self, condition: exp.Expr) -> None:
        for one, sign, other in _comparisons(condition):
            try:
                left, right = common(self._expressions.compile(one), self._expressions.compile(other))
            except NotProven:
                continue
            if left.column is None:
                left, right, sign = right, left, _MIRRORED[sign]
            if left.column is None or not isinstance(right.literal, int) or left.type not in (*INTEGERS, TIMESTAMP):
                continue
            internal, column = left.column
            for source in self._scope.sources:
                if source.internal == internal and source.part is not None:
                    source.part.narrow(column, sign, right.literal)

    def _outputs(self, node: exp.Select) -> list[Value]:
        outputs: list[Value] = []
        for each in node.expressions:
            match each:
                case exp.Star():
                    only(each)
                    outputs += self._all_columns(self._scope.sources)
                case exp.Column(this=exp.Star()):
                    only(each, "this", "table")
                    only(each.this)
                    name = each.table.lower()
                    chosen = [source for source in self._scope.sources if source.alias is not None and source.alias.lower() == name]
                    if len(chosen) != 1:
                        raise NotProven(f"{each.table}.*")
                    outputs += self._all_columns(chosen)
                case exp.Alias():
                    only(each, "this", "alias")
                    if not isinstance(each.args["alias"], exp.Identifier):
                        raise NotProven("an alias of that form")
                    value = self._compile_output(each.this, outputs)
                    outputs.append(Value(value.sql, value.type, each.alias, column=value.column))
                case _:
                    outputs.append(self._compile_output(each, outputs))
        if not outputs:
            raise NotProven("SELECT without columns")
        return outputs

    def _compile_output(self, node: exp.Expr, before: Sequence[Value]) -> Value:
        earlier = {each.column_name.lower() for each in before if each.column_name is not None}
        for column in node.find_all(exp.Column):
            parts = [each.name for each in column.parts]
            if parts[0].lower() in earlier and self._scope.find(parts) is None:
                raise NotProven("a column that uses the alias of another one")
        return self._expressions.compile(node)

    def _all_columns(self, sources: Sequence[Source]) -> list[Value]:
        if not sources:
            raise NotProven("a star without FROM")
        return [source.column(index, name) for source in sources for index, (name, _) in enumerate(source.columns)]

    def _group_by(self, node: exp.Select, outputs: Sequence[Value]) -> str:
        group = node.args.get("group")
        if group is None:
            return ""
        only(group, "expressions")
        keys = []
        for each in group.expressions:
            position = _position(each, outputs)
            value = self._expressions.compile(each) if position is None else outputs[position]
            check_comparable([value.type])
            # DuckDB finds an expression of SELECT again by its place, whatever is in it.
            same = [index for index, output in enumerate(outputs) if output.sql == value.sql]
            keys.append(str(same[0] + 1) if same else value.sql)
        return f" GROUP BY {', '.join(keys)}"


def order_by(order: exp.Expr, outputs: Sequence[Value], expressions: Expressions) -> str:
    """Names are those of the answer's columns first, as in Spark."""
    only(order, "expressions")
    expressions.aliases_first = True
    try:
        keys = []
        for each in order.expressions:
            position = _position(each.this, outputs)
            if position is None and isinstance(each.this, exp.Column) and len(each.this.parts) == 1:
                name = each.this.name.lower()
                found = [index for index, output in enumerate(outputs) if (output.column_name or "").lower() == name]
                if len(found) > 1:
                    raise NotProven("ORDER BY a name that two columns have")
                position = found[0] if found else None
            value = expressions.compile(each.this) if position is None else outputs[position]
            sql = expressions.ordered(each, value)
            keys.append(sql if position is None else sql.replace(value.sql, str(position + 1), 1))
        return f"ORDER BY {', '.join(keys)}"
    finally:
        expressions.aliases_first = False


def limit_of(node: exp.Expr) -> str:
    sql = ""
    for word, part in (("LIMIT", node.args.get("limit")), ("OFFSET", node.args.get("offset"))):
        if part is not None:
            only(part, "expression")
            number = _constant(part.expression)
            if number is None:
                raise NotProven(f"{word} with other than a number")
            sql += f" {word} {number}"
    return sql


def check_comparable(kinds: Iterator[ColumnType] | Sequence[ColumnType]) -> None:
    for each in kinds:
        if each not in (*ORDERED, BOOLEAN, BINARY) and not isinstance(each, Decimal):
            raise NotProven("GROUP BY or DISTINCT of that type")


def _position(node: exp.Expr, outputs: Sequence[Value]) -> int | None:
    number = _constant(node)
    if number is None:
        return None
    if not 1 <= number <= len(outputs):
        raise NotProven("a position beyond the columns")
    return number - 1


def _constant(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal() and len(node.this) < 10:
        return int(node.this)
    return None


_SIGNS: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_MIRRORED = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}


def _comparisons(condition: exp.Expr) -> Iterator[tuple[exp.Expr, str, exp.Expr]]:
    """Those that every row of the answer fulfils."""
    match condition:
        case exp.Paren():
            yield from _comparisons(condition.this)
        case exp.And():
            yield from _comparisons(condition.this)
            yield from _comparisons(condition.expression)
        case exp.Between():
            yield condition.this, ">=", condition.args["low"]
            yield condition.this, "<=", condition.args["high"]
        case _ if type(condition) in _SIGNS:
            yield condition.this, _SIGNS[type(condition)], condition.expression


_SIMPLE_PARTS = ("expressions", "from_", "limit", "offset")


def _records_max(tree: exp.Expr, limit: int | None) -> int | None:
    """A query that only shows records needs no more of them than it shows."""
    if not isinstance(tree, exp.Select) or any(part and name not in _SIMPLE_PARTS for name, part in tree.args.items()):
        return None
    shown = (exp.Star, exp.Column, exp.Alias, exp.Identifier, exp.Bracket, exp.Dot, exp.Literal)
    if any(not isinstance(node, shown) for each in tree.expressions for node in each.walk()):
        return None
    source = tree.args["from_"].this if tree.args.get("from_") is not None else None
    if not isinstance(source, exp.Table):
        return None
    numbers = [_constant(tree.args[name].expression) if tree.args.get(name) is not None else 0 for name in ("limit", "offset")]
    own = None if tree.args.get("limit") is None or None in numbers else sum(each for each in numbers if each is not None)
    if limit is not None and tree.args.get("limit") is None and not tree.args.get("offset"):
        return limit
    return own
