"""Quotas by entity. An entity is a set of (type, name) pairs; a null name stands for the default of
its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import ClientQuotaRecord, MetadataRecord
from barnabas.wire.metadata_records.client_quota import EntityData

QuotaEntity: TypeAlias = frozenset[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class QuotasImage:
    by_entity: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)

    def records(self) -> Iterator[MetadataRecord]:
        for entity, values in self.by_entity.items():
            parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in sorted(entity, key=lambda part: part[0])]
            for key, value in sorted(values.items()):
                yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)


class QuotasDelta:
    def __init__(self, image: QuotasImage) -> None:
        self.image = image
        self._draft: Draft[QuotaEntity, Mapping[str, float]] = Draft(image.by_entity)

    @property
    def changed(self) -> set[QuotaEntity]:
        return self._draft.changed

    def replay(self, record: ClientQuotaRecord) -> None:
        entity = frozenset((part.entity_type, part.entity_name) for part in record.entity)
        values = dict(self._draft.get(entity) or {})
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if values:
            self._draft.set(entity, values)
        else:
            self._draft.remove(entity)

    def finish(self) -> QuotasImage:
        return QuotasImage(self._draft.finish()) if self.changed else self.image
