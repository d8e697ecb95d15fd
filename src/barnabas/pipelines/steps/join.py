"""A stream joined with a table by the table's key: ``{view: rated, join: {stream: payments, table:
limits, on: account, how: left}}``.

The result has the stream's columns, and the table's as one column named like the table, so that SQL
can continue with ``amount > limits.limit``. With ``how: left`` (inner is the default) that column
is null where the table has no such key.

The latest value of every key is in Spark's state store, where rows and changes of one key meet: a
batch costs as much as its own rows, however large the table. Within a batch changes come first, so
a row sees the table as it is at the end of its batch; at the first start the first batch has all of
the table. A batch that runs again has the same rows and the same changes on the same state, and the
same result. A change alone produces no rows: earlier rows are not joined again.

Rows travel through Python as JSON beside the key, which keeps all types except maps with keys other
than texts. A watermark does not survive that: declare it on this step if windows follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.formats import quoted
from barnabas.pipelines.formats.decoding import decoded_rows
from barnabas.pipelines.sources import table as table_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.step_declarations import StepDeclaration

# The table is in the state, which is rolled back with a batch that runs again.
KEEPS_TABLES = True
_KEY = "barnabas_key"
# Spark's default has milliseconds.
_JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}


@dataclass(frozen=True, slots=True)
class JoinSettings:
    stream: str
    table: str
    on: str  # SQL over the stream's columns
    how: str


def declare(fields: Fields) -> JoinSettings:
    own = fields.nested("join")
    settings = JoinSettings(
        stream=own.text("stream"),
        table=own.text("table"),
        on=own.text("on"),
        how=own.choice("how", ("inner", "left"), default="inner"),
    )
    own.end()
    return settings


def inputs(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, JoinSettings)
    return (settings.stream, settings.table)


def needs_tables(settings: object) -> tuple[str, ...]:
    """The inputs that must be sources of the kind 'table'."""
    assert isinstance(settings, JoinSettings)
    return (settings.table,)


def apply(declaration: StepDeclaration, context: RunContext) -> DataFrame:
    from pyspark.sql import functions as F

    settings = declaration.settings
    assert isinstance(settings, JoinSettings)
    stream = context.frame(settings.stream)
    changed = next(source for source in context.pipeline.sources if source.name == settings.table)
    changes, table = table_source.changes(context.session, changed, context)
    assert table.decoding is not None
    assert table.decoding.key is not None
    rows = stream.select(
        F.expr(settings.on).cast(table.decoding.key.type).cast("string").alias(_KEY),
        F.to_json(F.struct(*map(quoted, stream.columns)), _JSON).alias("row"),
        F.lit(None).cast("binary").alias("value"),
        F.lit(None).cast("bigint").alias("offset"),
    )
    # Cast the key to its type and back to text, so that 07 and 7 are one number.
    key = F.col("key").cast("string").cast(table.decoding.key.type).cast("string")
    updates = changes.select(key.alias(_KEY), F.lit(None).cast("string").alias("row"), "value", "offset")
    grouped = rows.unionByName(updates).groupBy(_KEY)
    met = grouped.transformWithStateInPandas(_meeting(), "row STRING, value BINARY", "Append", "None")
    decoded = decoded_rows(met, table.decoding.format, ["row"])
    parsed = F.from_json("row", stream.schema, _JSON)
    joined = decoded.select(F.col("_row").alias("_joined"), parsed.alias("_row"))
    if settings.how == "inner":
        joined = joined.where("_joined IS NOT NULL")
    columns = [F.col(f"_row.{quoted(name)}").alias(name) for name in stream.columns]
    return joined.select(*columns, F.col("_joined").alias(settings.table))


def _meeting() -> StatefulProcessor:
    """Defined inside a function, because without Spark the base class does not exist."""
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Meeting(StatefulProcessor):
        """All that a batch has for one key: its changes, of which the last counts, and its rows."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self._latest = handle.getValueState("latest", "value BINARY")

        def handleInputRows(  # noqa: N802 - Spark's name
            self,
            key: Any,
            rows: Iterator[pd.DataFrame],
            timerValues: Any,  # noqa: N803 - as above
        ) -> Iterator[pd.DataFrame]:
            waiting: list[str] = []
            last_offset, value = -1, None
            for part in rows:
                waiting.extend(part["row"].dropna())
                changes = part[part["row"].isna()]
                for offset, changed in zip(changes["offset"], changes["value"], strict=True):
                    if offset > last_offset:
                        last_offset, value = int(offset), changed
            if last_offset < 0:
                known = self._latest.get()
                value = None if known is None else known[0]
            elif value is None:
                self._latest.clear()
            else:
                self._latest.update((value,))
            if waiting:
                yield pd.DataFrame({"row": waiting, "value": [value] * len(waiting)})

        def close(self) -> None:
            pass

    return Meeting()
