"""From objects to the bytes of a record.

A serializer knows the schema of its objects, or takes that of the registry. It asks the registry
for the id under the subject of the topic, encodes, and puts the id in front of the bytes, or the
GUID into a header.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, MutableSequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypedDict, TypeVar, overload

from barnabas.schemas.codec import Codec
from barnabas.schemas.errors import DoesNotEncode, InvalidSchema
from barnabas.schemas.framing import write_frame, write_guid
from barnabas.schemas.schema import ParsedSchema, SchemaType
from barnabas.schemas.serdes.context import Context, RecordContext, header_name
from barnabas.schemas.serdes.kafka_python import kafka_python_serializer
from barnabas.schemas.serdes.registry_port import Registered, Registry
from barnabas.schemas.serdes.subject_names import SubjectName, by_association
from barnabas.schemas.serdes.written_schema import SchemaText

T = TypeVar("T")

# Codecs that one serializer or deserializer keeps: one for each version that it meets.
CODECS_KEPT_MAX: Final = 1_000
# Subjects whose schema a serializer knows to be registered: one for each topic that it writes to.
# Without an entry the registry's client is asked, which remembers too.
SUBJECTS_KEPT_MAX: Final = 10_000


class SerializerOptions(TypedDict, total=False):
    """The keyword arguments that all serializers share; :class:`WriteOptions` explains them."""

    schema_id: int | None
    use_latest: bool
    auto_register: bool
    normalize: bool
    subject: SubjectName
    in_header: bool


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a serializer finds the schema at the registry. The first that is set counts:
    ``schema_id``, ``use_latest``, ``auto_register``; otherwise the schema must be registered
    already."""

    schema_id: int | None = None
    use_latest: bool = False
    auto_register: bool = True
    normalize: bool = False
    subject: SubjectName = field(default_factory=by_association)
    in_header: bool = False
    """Whether the GUID goes into a header; otherwise the id stands in front of the bytes."""


class Serializer(Generic[T]):
    """Callable like confluent-kafka's. May be used by several threads at once."""

    def __init__(
        self,
        registry: Registry,
        type_: SchemaType,
        text: SchemaText | None,
        to_value: Callable[[T], object],
        codec: Callable[[ParsedSchema], Codec],
        options: WriteOptions,
    ) -> None:
        if text is None and options.schema_id is None and not options.use_latest:
            raise InvalidSchema("A serializer needs a type or a schema, unless it uses that of the registry.")
        self._registry = registry
        self._type = type_
        self._text = text
        self._to_value = to_value
        self._make_codec = codec
        self._options = options
        self._own = codec(text.parsed) if text is not None else None
        self._codecs: dict[int | None, Codec] = {}
        self._subjects: dict[str, Registered] = {}

    @overload
    def __call__(self, obj: T, ctx: Context | None = None) -> bytes: ...

    @overload
    def __call__(self, obj: None, ctx: Context | None = None) -> None: ...

    def __call__(self, obj: T | None, ctx: Context | None = None) -> bytes | None:
        """None stays None, which deletes a key. Raises :class:`DoesNotEncode`, or the error of the
        registry."""
        if obj is None:
            return None
        registered, codec = self._chosen(ctx)
        payload = codec.encode(self._to_value(obj))
        if self._options.in_header:
            return self._with_header(registered, payload, ctx)
        if registered.id is None:
            raise DoesNotEncode("the registry gives the schema no id")
        return write_frame(registered.id, payload)

    def for_topic(self, topic: str, *, is_key: bool = False) -> Callable[[T | None], bytes | None]:
        """A function of the object alone, for clients that pass nothing else: aiokafka."""
        if self._options.in_header:
            raise InvalidSchema("A client that passes no headers cannot carry a schema in them.")
        context = RecordContext(topic, "key" if is_key else "value")
        return lambda obj: self(obj, context) if obj is not None else None

    def for_kafka_python(self, *, is_key: bool = False) -> Any:
        """A ``kafka.serializer.Serializer`` of kafka-python."""
        return kafka_python_serializer(self, is_key=is_key)

    @property
    def record_name(self) -> str | None:
        """For subjects that carry the name of the record."""
        return self._text.parsed.record_name if self._text is not None else None

    def _chosen(self, ctx: Context | None) -> tuple[Registered, Codec]:
        options, text = self._options, self._text
        if options.schema_id is not None:
            registered = self._registry.schema_by_id(options.schema_id)
            return registered, self._codec_of(registered)
        subject = options.subject(ctx, self.record_name, self._registry)
        if options.use_latest:
            registered = self._registry.latest(subject)
            return registered, self._codec_of(registered)
        assert text is not None
        assert self._own is not None
        known = self._subjects.get(subject)
        if known is None:
            if len(self._subjects) >= SUBJECTS_KEPT_MAX:
                self._subjects.clear()
            ask = self._registry.register if options.auto_register else self._registry.lookup
            references = text.references()
            known = self._subjects[subject] = ask(subject, text.type, text.text, references, normalize=options.normalize)
        return known, self._own

    def _codec_of(self, registered: Registered) -> Codec:
        codec = self._codecs.get(registered.id)
        if codec is None:
            if registered.type is not self._type:
                raise DoesNotEncode(f"the schema {registered.id} is of type {registered.type.value}, and not {self._type.value}")
            if len(self._codecs) >= CODECS_KEPT_MAX:
                self._codecs.clear()
            codec = self._codecs[registered.id] = self._make_codec(registered.parsed)
        return codec

    def _with_header(self, registered: Registered, payload: bytes, ctx: Context | None) -> bytes:
        if registered.guid is None:
            raise DoesNotEncode("the registry gives the schema no GUID, which a header needs")
        headers: Any = ctx.headers if ctx is not None else None
        if ctx is None or headers is None:
            raise DoesNotEncode("the schema goes into a header, and the call has none; pass headers=[]")
        in_header, rest = self._split(payload)
        header = write_guid(registered.guid, in_header)
        if isinstance(headers, MutableMapping):
            headers[header_name(ctx)] = header
        elif isinstance(headers, MutableSequence):
            headers.append((header_name(ctx), header))
        else:
            raise DoesNotEncode("the headers are neither a list nor a dict")
        return rest

    def _split(self, payload: bytes) -> tuple[bytes, bytes]:
        """The part of the payload that follows the GUID in the header, and the rest. Only Protobuf
        has such a part: its indexes."""
        return b"", payload
