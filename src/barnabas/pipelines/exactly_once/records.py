"""Passes Spark's rows, in Arrow batches, to a producer. Hot: a few hundred nanoseconds per row
decide the pipeline's speed.

column       type                        null or missing
==========   =========================   ======================================
topic        text                        an error
key, value   binary or text              no key; no value, which is a tombstone
headers      array of (key, value)       none
partition    number                      by the key
timestamp    timestamp or milliseconds   the time of writing
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from barnabas.pipelines.errors import RunFailed

# How long to let the broker take some of the buffered records before the next attempt.
_FULL_SECONDS = 0.1
_BY_KEY = -1
_NOW = 0


def produce_all(producer: Any, chunk: pa.RecordBatch) -> int:
    """Passes on every row and returns the number of rows.

    Waits while the buffer is full. If the broker accepts nothing, the records time out and the
    transaction fails, so the wait ends.
    """
    columns = set(chunk.schema.names)
    topics = chunk.column("topic")
    if topics.null_count:
        raise RunFailed("A row has no topic to be written to.")
    values = chunk.column("value").to_pylist()
    keys = chunk.column("key").to_pylist() if "key" in columns else repeat(None)
    produce = producer.produce
    plain = not any(name in columns and chunk.column(name).null_count < chunk.num_rows for name in ("headers", "partition", "timestamp"))
    if plain:
        rows: Iterator[tuple[Any, ...]] = zip(topics.to_pylist(), values, keys, strict=False)
    else:
        rows = zip(
            topics.to_pylist(),
            values,
            keys,
            _partitions(chunk, columns),
            repeat(None),
            repeat(None),
            _timestamps(chunk, columns),
            _headers(chunk, columns),
            strict=False,
        )
    for row in rows:
        while True:
            try:
                produce(*row)
            except BufferError:
                producer.poll(_FULL_SECONDS)
            except KafkaException as failed:
                raise _explained(failed, row) from failed
            else:
                break
    # Lets librdkafka report errors, if there are any.
    producer.poll(0)
    return len(values)


def _explained(failed: KafkaException, row: tuple[Any, ...]) -> Exception:
    if failed.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
        size = len(row[1] or b"") + len(row[2] or b"")
        return RunFailed(
            f"A record of {size} bytes for topic {row[0]} is larger than message.max.bytes allows: raise it under 'options' of the sink, "
            "and max.message.bytes of the topic."
        )
    return failed


def _partitions(chunk: pa.RecordBatch, columns: set[str]) -> Iterator[int]:
    if "partition" not in columns:
        return repeat(_BY_KEY)
    return (_BY_KEY if each is None else each for each in chunk.column("partition").to_pylist())


def _timestamps(chunk: pa.RecordBatch, columns: set[str]) -> Iterator[int]:
    if "timestamp" not in columns:
        return repeat(_NOW)
    column = chunk.column("timestamp")
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    return (_NOW if each is None else each for each in column.to_pylist())


def _headers(chunk: pa.RecordBatch, columns: set[str]) -> Iterator[list[tuple[str, bytes | None]] | None]:
    if "headers" not in columns:
        return repeat(None)
    return (None if each is None else [(one["key"], one["value"]) for one in each] for each in chunk.column("headers").to_pylist())
