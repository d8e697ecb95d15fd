"""Framed records as rows, in Spark's tasks: Arrow batches in, Arrow batches out. Hot.

Each id of a schema has a codec, which is made once in a worker process and kept. A record that is
not framed, names an unknown schema, does not decode, or does not fit the columns gets a reason; an
unreachable registry raises ``RunFailed``, because it says nothing about the record.

A batch becomes one array of Arrow at once. Only when that fails is each record tried by itself, to
find those that do not fit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from barnabas.pipelines.registered.columns import reading_converter
from barnabas.pipelines.registered.plans import DecodingPlan, SchemaText
from barnabas.pipelines.registered.registry import UnknownSchema, kept_registry
from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.codec import AvroCodec
from barnabas.schemas.avro.union_forms import UnionForm
from barnabas.schemas.codec import Codec, codec_of
from barnabas.schemas.errors import DoesNotDecode, DoesNotFit, InvalidSchema, NotFramed
from barnabas.schemas.framing import VALUE_HEADER, read_either
from barnabas.schemas.protobuf.codec import ProtobufCodec
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ParsedSchema

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

# Codecs of one decoder; a topic has a few schemas, and a flood of ids must not fill the memory.
CODECS_MAX: Final = 1000
# Decoders that a worker process keeps: one for each source.
DECODERS_MAX: Final = 16
# A reason is a header of the dead letter.
REASON_CHARACTERS_MAX: Final = 500
FRAME_BYTES: Final = 5
NO_RECORD: Final = "the value is no record of the columns"
_HEADER_COLUMN: Final = "_schema_header"
# Arrow's errors are among these.
_MISFITS: Final = (ValueError, TypeError, KeyError, OverflowError, AttributeError)


def decoded_frame(frame: DataFrame, plan: DecodingPlan, columns: StructType, kept: Sequence[str]) -> DataFrame:
    """The columns ``kept``, and ``_row`` (null where the record is undecodable) and ``_reason``.
    ``frame`` has ``value``, and may have ``headers``."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    header = schema_header() if "headers" in frame.columns else F.lit(None).cast("binary")
    names = list(dict.fromkeys([*kept, "value"]))
    taken = frame.select(*names, header.alias(_HEADER_COLUMN))
    fields = [each for each in taken.schema.fields if each.name in kept]
    result = StructType([*fields, StructField("_row", columns), StructField("_reason", StringType())])

    def decode(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        return decoded_batches(batches, plan, columns, kept)

    return taken.mapInArrow(decode, result)


def schema_header() -> Column:
    """The header that names the schema of the value, or null."""
    from pyspark.sql import functions as F

    return F.get(F.filter("headers", lambda each: each["key"] == VALUE_HEADER), F.lit(0))["value"]


def with_header_inside(frame: DataFrame) -> DataFrame:
    """The same records, with the header in front of the value, which is another way to name a
    schema. For places that keep only the value."""
    from pyspark.sql import functions as F

    return frame.withColumn("value", F.concat(F.coalesce(schema_header(), F.lit(bytearray())), F.col("value")))


def decoded_batches(batches: Iterable[RecordBatch], plan: DecodingPlan, columns: StructType, kept: Sequence[str]) -> Iterator[RecordBatch]:
    import pyarrow
    from pyspark.sql.pandas.types import to_arrow_type

    from barnabas.pipelines.spark_archives import stop_rereading

    stop_rereading()
    decoder, row_type = _kept_decoder(plan), to_arrow_type(columns)
    for batch in batches:
        headers = batch.column(_HEADER_COLUMN)
        named = headers.to_pylist() if headers.null_count < batch.num_rows else [None] * batch.num_rows
        rows, reasons = decoder.rows(batch.column("value").to_pylist(), named, row_type)
        arrays = [*(batch.column(name) for name in kept), rows, pyarrow.array(reasons, pyarrow.string())]
        yield pyarrow.RecordBatch.from_arrays(arrays, names=[*kept, "_row", "_reason"])


class Schemas(Protocol):
    """The registry, as a decoder needs it."""

    def schema(self, schema: int | UUID) -> SchemaText:
        """Raises ``UnknownSchema``, or ``RunFailed`` if there is no answer."""


class Decoder:
    """The readers' schema, and a codec for each writer's."""

    def __init__(self, plan: DecodingPlan, registry: Schemas | None = None) -> None:
        self._registry: Schemas = kept_registry(plan.registry, plan.retry_ms) if registry is None else registry
        self._reader = plan.reader.parsed()
        self._convert = reading_converter(self._reader, plan.record)
        self._message = (plan.record or self._reader.record_name) if isinstance(self._reader, ProtobufSchema) else None
        self._codecs: OrderedDict[int | UUID, Codec | str] = OrderedDict()
        # The same codecs by the first bytes of a record.
        self._by_frame: dict[bytes, Codec] = {}

    def rows(self, values: Sequence[bytes | None], headers: Sequence[bytes | None], row_type: Any) -> tuple[Any, list[str | None]]:
        """An array of rows, and the reasons of those that are null."""
        found: list[dict[str, Any] | None] = []
        reasons: list[str | None] = []
        convert, by_frame = self._convert, self._by_frame
        for value, header in zip(values, headers, strict=True):
            # Almost all records begin with an id that was met before.
            codec = None if value is None or header is not None else by_frame.get(value[:FRAME_BYTES])
            if codec is not None and value is not None:
                payload = value[FRAME_BYTES:]
            else:
                # Outside of the block below: an error here says nothing about the record.
                codec, payload, reason = self._codec_and_payload(value, header)
                if codec is None:
                    found.append(None)
                    reasons.append(reason)
                    continue
            try:
                row: Any = codec.decode(payload)
                row = row if convert is None or row is None else convert(row)
                if not isinstance(row, dict):
                    raise NotFramed(NO_RECORD)
                found.append(row)
                reasons.append(None)
            except _MISFITS as error:
                found.append(None)
                reasons.append(_sentence(error))
        # An id that the registry does not know now, it may know in the next batch.
        self._forget_unknown()
        try:
            return _struct_array(found, row_type), reasons
        except _MISFITS:
            return self._one_by_one(found, reasons, row_type), reasons

    def _codec_and_payload(self, value: bytes | None, header: bytes | None) -> tuple[Codec | None, bytes, str]:
        """Without a codec, the reason why there is none."""
        if value is None:
            return None, b"", "there is no value"
        try:
            schema, payload = read_either(value, header)
        except NotFramed as error:
            return None, b"", _sentence(error)
        codec = self._codecs.get(schema)
        if codec is None:
            codec = self._codec(schema)
        if isinstance(codec, str):
            return None, b"", _sentence(NotFramed(codec))
        if header is None and isinstance(schema, int):
            self._by_frame[value[:FRAME_BYTES]] = codec
        return codec, payload, ""

    def _codec(self, schema: int | UUID) -> Codec | str:
        """The codec, or the reason why there is none."""
        codec: Codec | str
        try:
            written = self._registry.schema(schema)
            codec = self._codec_of(written.parsed())
        except UnknownSchema as unknown:
            codec = str(unknown)
        except InvalidSchema as invalid:
            codec = f"schema {schema} does not fit the readers' schema: {invalid}"
        self._codecs[schema] = codec
        if len(self._codecs) > CODECS_MAX:
            self._codecs.popitem(last=False)
            self._by_frame.clear()
        return codec

    def _codec_of(self, written: ParsedSchema) -> Codec:
        if isinstance(written, AvroSchema) and isinstance(self._reader, AvroSchema):
            return AvroCodec(written, self._reader, unions=UnionForm.NAMED_RECORDS)
        codec = codec_of(written, self._reader)
        return OneMessage(codec, self._message) if isinstance(codec, ProtobufCodec) else codec

    def _forget_unknown(self) -> None:
        for schema in [each for each, codec in self._codecs.items() if isinstance(codec, str)]:
            del self._codecs[schema]

    def _one_by_one(self, found: list[dict[str, Any] | None], reasons: list[str | None], row_type: Any) -> Any:
        for place, row in enumerate(found):
            try:
                _struct_array([row], row_type)
            except _MISFITS as error:
                found[place], reasons[place] = None, _sentence(error, "it does not fit the columns: ")
        return _struct_array(found, row_type)


class OneMessage:
    """Reads one message of a file that may have several: the columns are its fields."""

    def __init__(self, codec: ProtobufCodec, full_name: str | None) -> None:
        self._codec = codec
        self._full_name = full_name

    def decode(self, payload: bytes) -> object:
        message, shape = self._codec.message_of(payload)
        if shape.full_name != self._full_name:
            raise DoesNotDecode(f"it is a message {shape.full_name}, and the columns are those of {self._full_name}")
        return shape.value_of(message)

    def encode(self, value: object) -> bytes:
        return self._codec.encode(value)


def _struct_array(rows: Sequence[dict[str, Any] | None], row_type: Any) -> Any:
    """As ``pyarrow.array`` makes it, in a third of the time: column by column."""
    import pyarrow

    columns = [pyarrow.array([None if row is None else row.get(field.name) for row in rows], field.type) for field in row_type]
    missing = pyarrow.array([row is None for row in rows], pyarrow.bool_())
    return pyarrow.StructArray.from_arrays(columns, fields=list(row_type), mask=missing)


def _sentence(error: Exception, before: str = "") -> str:
    known = isinstance(error, NotFramed | DoesNotFit)
    text = str(error) if known else f"it does not fit the columns: {error}" if not before else f"{before}{error}"
    text = " ".join(text.split()).rstrip(".")
    return text[:REASON_CHARACTERS_MAX]


_decoders: OrderedDict[DecodingPlan, Decoder] = OrderedDict()


def _kept_decoder(plan: DecodingPlan) -> Decoder:
    found = _decoders.pop(plan, None) or Decoder(plan)
    _decoders[plan] = found
    if len(_decoders) > DECODERS_MAX:
        _decoders.popitem(last=False)
    return found
