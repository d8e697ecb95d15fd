"""Which ids of schemas the records of a topic carry, and what becomes of them on the target. Pure.

A record does not say that it is framed: a key that is a number of eight bytes may begin like one.
So the subjects of the source's registry decide, for each topic:

=====================================  =============================================================
the registry has                       ids that are rewritten
=====================================  =============================================================
``TOPIC-key``                          in keys: all; an unknown one is a schema that just came
``TOPIC-RECORD``, and no such subject  in keys: those of ``TOPIC-RECORD``
``TOPIC-value``, or ``TOPIC-RECORD``   in values: all; an unknown one is a schema that just came
neither                                in values: those of subjects that are named after records
=====================================  =============================================================
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from barnabas.schemas.framing import MAGIC_ID

_FRAME_BYTES: Final = 5
_KEY, _VALUE = "-key", "-value"


class SchemaVersion(NamedTuple):
    """A version of a subject, as a registry lists it."""

    subject: str
    version: int
    id: int
    body: Mapping[str, Any]  # the fields that a registration has
    deleted: bool = False

    @property
    def references(self) -> list[Mapping[str, Any]]:
        return list(self.body.get("references") or ())

    @property
    def in_default_context(self) -> bool:
        return not self.subject.startswith(":.")


@dataclass(frozen=True, slots=True)
class PartIds:
    """For the keys of a topic, or for its values: ids on the source, and those on the target that
    stand for them."""

    targets: Mapping[int, int] = field(default_factory=dict)
    framed: bool = False  # every key or value carries an id


@dataclass(frozen=True, slots=True)
class TopicIds:
    keys: PartIds = PartIds()
    values: PartIds = PartIds()


class UnknownId(Exception):
    """The id of a framed key or value is not among those of the topic."""

    def __init__(self, schema_id: int) -> None:
        super().__init__(schema_id)
        self.schema_id = schema_id


def translated(data: bytes | None, ids: PartIds) -> bytes | None:
    """The key or value with the id of the target. Raises ``UnknownId``."""
    if data is None or not ids.targets or len(data) < _FRAME_BYTES or data[0] != MAGIC_ID:
        return data
    schema_id = int.from_bytes(data[1:_FRAME_BYTES], "big")
    target = ids.targets.get(schema_id)
    if target is not None:
        return data[:1] + target.to_bytes(_FRAME_BYTES - 1, "big") + data[_FRAME_BYTES:]
    if ids.framed:
        raise UnknownId(schema_id)
    return data


def topic_of(subject: str, topics: Collection[str]) -> str | None:
    """The topic that a subject is named after; the longest, because ``orders-eu`` may be one beside
    ``orders``."""
    return max((each for each in topics if subject.startswith(f"{each}-")), key=len, default=None)


def ids_of_topics(topics: Collection[str], versions: Iterable[SchemaVersion], targets: Mapping[int, int]) -> dict[str, TopicIds]:
    """``targets``: the id on the target for each id on the source."""
    subjects: dict[str | None, dict[str, set[int]]] = {}
    for version in versions:
        subjects.setdefault(topic_of(version.subject, topics), {}).setdefault(version.subject, set()).add(version.id)
    of_records = {each for subject, ids in subjects.get(None, {}).items() if not subject.endswith((_KEY, _VALUE)) for each in ids}

    def part(framed: bool, others: set[int]) -> PartIds:
        return PartIds(targets if framed else {each: targets[each] for each in others if each in targets}, framed)

    found = {}
    for topic in topics:
        own = subjects.get(topic, {})
        with_record = {each for subject, ids in own.items() if not subject.endswith((_KEY, _VALUE)) for each in ids}
        keys = part(f"{topic}{_KEY}" in own, with_record)
        values = part(f"{topic}{_VALUE}" in own or bool(with_record), of_records)
        found[topic] = TopicIds(keys, values)
    return found
