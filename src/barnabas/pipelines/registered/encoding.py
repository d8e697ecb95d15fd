"""Rows as framed records, in Spark's tasks: Arrow batches in, Arrow batches out.

The driver has registered the schema for the sink's own topic before the first batch. A topic that
only a row's ``route`` names has a subject of its own, which the task registers when it meets the
first such row.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.registered.columns import writing_converter
from barnabas.pipelines.registered.plans import EncodingPlan
from barnabas.pipelines.registered.registry import kept_registry
from barnabas.pipelines.registered.subjects import subject_of
from barnabas.schemas.codec import codec_of
from barnabas.schemas.errors import DoesNotFit
from barnabas.schemas.framing import write_frame

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame

ENCODERS_MAX: Final = 16


def encoded_frame(frame: DataFrame, plan: EncodingPlan) -> DataFrame:
    """``frame`` has Kafka's columns, with ``value`` as a struct of the columns; the result has it
    as bytes."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    fields = [StructField("value", BinaryType()) if each.name == "value" else each for each in frame.schema.fields]

    def encode(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        return encoded_batches(batches, plan)

    return frame.mapInArrow(encode, StructType(fields))


def encoded_batches(batches: Iterable[RecordBatch], plan: EncodingPlan) -> Iterator[RecordBatch]:
    import pyarrow

    from barnabas.pipelines.spark_archives import stop_rereading

    stop_rereading()
    encoder = _kept_encoder(plan)
    for batch in batches:
        place = batch.schema.get_field_index("value")
        values = encoder.values(batch.column("topic").to_pylist(), batch.column(place).to_pylist())
        arrays = list(batch.columns)
        arrays[place] = pyarrow.array(values, pyarrow.binary())
        yield pyarrow.RecordBatch.from_arrays(arrays, names=batch.schema.names)


class Encoder:
    def __init__(self, plan: EncodingPlan) -> None:
        parsed = plan.schema.parsed()
        self._plan = plan
        self._codec = codec_of(parsed, message=plan.record)
        self._convert = writing_converter(parsed, plan.record)
        self._record = plan.record or parsed.record_name
        self._ids = {plan.topic: plan.schema_id}

    def values(self, topics: list[str], rows: list[dict[str, Any] | None]) -> list[bytes | None]:
        return [None if row is None else self.value(topic, row) for topic, row in zip(topics, rows, strict=True)]

    def value(self, topic: str, row: dict[str, Any]) -> bytes:
        try:
            value = row if self._convert is None else self._convert(row)
            payload = self._codec.encode(value)
        except (DoesNotFit, ValueError, TypeError) as error:
            raise RunFailed(f"A row for topic {topic} does not fit the schema {self._plan.schema_id}: {str(error).rstrip('.')}.") from error
        schema_id = self._ids.get(topic)
        return write_frame(self._id(topic) if schema_id is None else schema_id, payload)

    def _id(self, topic: str) -> int:
        plan = self._plan
        if plan.subject is not None or plan.strategy == "record":
            found = plan.schema_id
        else:
            subject = subject_of(topic, plan.strategy, self._record)
            found = kept_registry(plan.registry, plan.retry_ms).id_of(subject, plan.schema, register=plan.register)
        self._ids[topic] = found
        return found


_encoders: OrderedDict[EncodingPlan, Encoder] = OrderedDict()


def _kept_encoder(plan: EncodingPlan) -> Encoder:
    found = _encoders.pop(plan, None) or Encoder(plan)
    _encoders[plan] = found
    if len(_encoders) > ENCODERS_MAX:
        _encoders.popitem(last=False)
    return found
