"""Records with schemas, and knowledge about them, for tests of their validation."""

from __future__ import annotations

from barnabas.records.batch_builder import build_batch
from barnabas.records.compression import Codec
from barnabas.records.record import Header, Record
from barnabas.records.schema_rules import Level, PartRules, SchemaRules, SubjectStrategy
from barnabas.schema_validation.core.knowledge import Expected, Registered, SchemaFacts

ID_LEVEL = SchemaRules(value=PartRules(Level.ID))
PAYLOAD_LEVEL = SchemaRules(value=PartRules(Level.PAYLOAD))
GUID = bytes(range(16))


def stamp(schema_id: int) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big", signed=True)


def stamped(schema_id: int, payload: bytes = b"payload") -> bytes:
    return stamp(schema_id) + payload


def record(value: bytes | None, *, key: bytes | None = None, headers: tuple[Header, ...] = ()) -> Record:
    return Record(0, 1000, key, value, headers)


def batch(*values: bytes | Record | None, codec: Codec = Codec.NONE, producer_id: int = -1, sequence: int = -1) -> memoryview:
    records = [each if isinstance(each, Record) else record(each) for each in values]
    numbered = [each._replace(offset=index) for index, each in enumerate(records)]
    epoch = -1 if producer_id < 0 else 0
    return memoryview(build_batch(numbered, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence))


def expected(part: str = "value", level: Level = Level.ID, strategy: SubjectStrategy = SubjectStrategy.TOPIC, topic: str = "t") -> Expected:
    return Expected(topic, part, PartRules(level, strategy))


def registered(*subjects: str, names: tuple[str, ...] = (), wrong: bytes | None = None) -> Registered:
    """A schema whose payloads decode, except those that begin with ``wrong``."""

    def why(payload: bytes) -> str | None:
        return "it is wrong" if wrong is not None and payload.startswith(wrong) else None

    return Registered(frozenset(subjects), SchemaFacts(frozenset(names), why))
