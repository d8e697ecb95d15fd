"""From committed batches of the metadata log to images.

The loader resolves metadata transactions: it holds back the records between Begin and End and
applies them together, so publishers never see half of a transaction. A loader returns (delta,
image); its owner passes them to the publishers.

A batch may hold ten thousand records. A caller on an event loop runs the steps of
:meth:`Loader.loading` with pauses in between; :attr:`Loader.image` does not change before the last
step.
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
        self._held: list[MetadataRecord] | None = None  # The records of an open transaction.
        # The changes of a batch that left a transaction open.
        self._unpublished: MetadataDelta | None = None

    @property
    def in_transaction(self) -> bool:
        return self._held is not None

    def load(self, records: Iterable[MetadataRecord], provenance: Provenance) -> Loaded | None:
        """Apply one committed batch, whose last record is ``provenance``. None while a transaction
        is open.
        """
        steps = self.loading(records, provenance)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                loaded: Loaded | None = done.value
                return loaded

    def loading(self, records: Iterable[MetadataRecord], provenance: Provenance) -> Generator[None, None, Loaded | None]:
        """As :meth:`load`, with a step before every record. The caller must take all steps before
        it loads another batch.
        """
        assert provenance.offset > self.image.provenance.offset, "batches are loaded once and in order"
        delta = self._unpublished or MetadataDelta(self.image)
        for record in records:
            yield
            match record:
                case BeginTransactionRecord():
                    assert self._held is None, "metadata transactions do not nest"
                    self._held = []
                case EndTransactionRecord():
                    assert self._held is not None, "the metadata transaction that ends never began"
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
