"""From committed batches of the metadata log to images.

Metadata transactions are resolved here: records between Begin and End are held back and take effect together, so publishers never
see half of one. What a loader hands out is (delta, image); who owns the loader passes it to the publishers.

A batch may hold ten thousand records. A caller on an event loop takes the steps of :meth:`Loader.loading` with pauses in between;
:attr:`Loader.image` stays what it was until the last of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.wire.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
)

Loaded = tuple[MetadataDelta, MetadataImage]


class Loader:
    def __init__(self, image: MetadataImage | None = None) -> None:
        self.image = image or MetadataImage()
        self._held: list[MetadataRecord] | None = None  # inside a transaction
        self._unpublished: MetadataDelta | None = None  # what a batch changed before it left a transaction open

    @property
    def in_transaction(self) -> bool:
        return self._held is not None

    def load(self, records: Iterable[MetadataRecord], provenance: Provenance) -> Loaded | None:
        """Apply one committed batch, whose last record is ``provenance``. None while a transaction is open."""
        steps = self.loading(records, provenance)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                loaded: Loaded | None = done.value
                return loaded

    def loading(self, records: Iterable[MetadataRecord], provenance: Provenance) -> Generator[None, None, Loaded | None]:
        """As :meth:`load`, with a step before every record. All of them must be taken before another batch is loaded."""
        assert provenance.offset > self.image.provenance.offset, "batches are loaded once and in order"
        delta = self._unpublished or MetadataDelta(self.image)
        for record in records:
            yield
            match record:
                case BeginTransactionRecord():
                    assert self._held is None, "metadata transactions do not nest"
                    self._held = []
                case EndTransactionRecord():
                    assert self._held is not None, "a metadata transaction ends that never began"
                    for held in self._held:
                        delta.replay(held)
                    self._held = None
                case AbortTransactionRecord():
                    self._held = None
                case _ if self._held is not None:
                    self._held.append(record)
                case _:
                    delta.replay(record)
        if self._held is not None:
            self._unpublished = delta
            return None
        self._unpublished = None
        self.image = delta.finish(provenance)
        return delta, self.image

    def load_snapshot(self, records: Sequence[MetadataRecord], provenance: Provenance) -> Loaded:
        delta = MetadataDelta(MetadataImage())
        for record in records:
            delta.replay(record)
        self._held = self._unpublished = None
        self.image = delta.finish(provenance)
        return delta, self.image
