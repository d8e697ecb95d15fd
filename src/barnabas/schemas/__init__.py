"""Schemas of records: Avro, JSON Schema and Protobuf. Pure.

Nouns: a *schema* is text of a type with *references* to others. Its *canonical text* identifies it
in a registry; the *normal form* is a canonical text that ignores order. A *level* of compatibility
says which older versions must get on with a new one; a *difference* is a reason why they do not.

Read in this order: :mod:`.schema`, :mod:`.parsing`, :mod:`.compatibility` with :mod:`.steps`, then
one format:
:mod:`.avro`, :mod:`.json_schema` or :mod:`.protobuf`, each with a model, a parser, a printer and a
comparison. For data of schemas: :mod:`.framing` (how records name their schema), :mod:`.codec`,
then the codec of one format; for people :mod:`.json_view`. For programs: :mod:`.serdes`, whose
names are here too.

Invariants: nothing is fetched, whatever a schema refers to; depth, size and the number of
comparisons have limits (:mod:`.limits`); canonical texts and verdicts are those of Confluent's
registry, so that a topic of schemas can move between registries; bytes that are no data of their
schema are an error with a path and a reason, and never end the process.

Not here: subjects, versions and ids (the registry), and requests to it (the registry's client).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from barnabas.schemas.serdes.avro import AvroDeserializer, AvroSerializer
    from barnabas.schemas.serdes.context import RecordContext
    from barnabas.schemas.serdes.deserializer import Deserializer
    from barnabas.schemas.serdes.json_schema import JsonDeserializer, JsonSerializer
    from barnabas.schemas.serdes.protobuf import ProtobufDeserializer, ProtobufSerializer
    from barnabas.schemas.serdes.python_types.shapes import AvroType, Digits, JsonType
    from barnabas.schemas.serdes.serializer import Serializer
    from barnabas.schemas.serdes.subject_names import by_association, by_record, by_topic, by_topic_record

__all__ = [
    "Serializer",
    "Deserializer",
    "AvroSerializer",
    "AvroDeserializer",
    "JsonSerializer",
    "JsonDeserializer",
    "ProtobufSerializer",
    "ProtobufDeserializer",
    "RecordContext",
    "by_topic",
    "by_record",
    "by_topic_record",
    "by_association",
    "AvroType",
    "Digits",
    "JsonType",
]

_MODULES: Final = {
    "Serializer": "serializer",
    "Deserializer": "deserializer",
    "AvroSerializer": "avro",
    "AvroDeserializer": "avro",
    "JsonSerializer": "json_schema",
    "JsonDeserializer": "json_schema",
    "ProtobufSerializer": "protobuf",
    "ProtobufDeserializer": "protobuf",
    "RecordContext": "context",
    "by_topic": "subject_names",
    "by_record": "subject_names",
    "by_topic_record": "subject_names",
    "by_association": "subject_names",
    "AvroType": "python_types.shapes",
    "Digits": "python_types.shapes",
    "JsonType": "python_types.shapes",
}


def __getattr__(name: str) -> Any:
    """Serdes are loaded when they are named: the core of this package must not depend on them, and
    each format needs a library of its own."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.serdes.{_MODULES[name]}"), name)
