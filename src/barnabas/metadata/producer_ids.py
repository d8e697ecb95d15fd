"""The first producer id that no broker has received yet. Brokers take them in blocks."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import MetadataRecord, ProducerIdsRecord


@dataclass(frozen=True, slots=True)
class ProducerIdsImage:
    next_producer_id: int = 0

    def records(self) -> Iterator[MetadataRecord]:
        if self.next_producer_id:
            yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id)
