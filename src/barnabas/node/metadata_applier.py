"""Applies committed batches in order: loader, then publishers, then whoever waits for the offset.

The image that handlers see changes only after the publishers have acted on it: a topic is visible when its logs exist. A publisher
may take its time (it makes files on a worker thread); batches behind it wait.

What a node finds at start (a snapshot, and the log up to its own epoch) is published once, as one delta from nothing. Publishing
it batch by batch would act history out again on today's files: a topic that was deleted and made anew would be deleted again.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Protocol

from barnabas.config.settings import BrokerSettings
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.loader import Loader
from barnabas.metadata.metadata_delta import MetadataDelta, delta_from_nothing
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.promise import Promise
from barnabas.node.metadata_log import MetadataBatch
from barnabas.wire.metadata_records import MetadataRecord


class Publisher(Protocol):
    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None: ...


class MetadataApplier:
    def __init__(self, settings: BrokerSettings, node_id: int, on_fatal: Callable[[BaseException], None]) -> None:
        self._settings = settings
        self._node_id = node_id
        self._on_fatal = on_fatal
        self._loader = Loader()
        self._queue: deque[MetadataBatch] = deque()
        self._waiting: list[tuple[int, int, Promise[None]]] = []
        self._order = count()
        self._task: asyncio.Task[None] | None = None
        self._began = False
        self._first_offset = 0
        self.publishers: list[Publisher] = []
        self.image = MetadataImage()
        self.effective = EffectiveConfigs(settings, self.image.configs, node_id)
        self.bytes_since_snapshot = 0
        self.caught_up: Promise[None] = Promise()

    @property
    def loaded(self) -> MetadataImage:
        """Everything read so far, published or not: what a snapshot or a new controller starts from."""
        return self._loader.image

    @property
    def in_transaction(self) -> bool:
        """Whether what was read so far ends inside a metadata transaction."""
        return self._loader.in_transaction

    def load_snapshot(self, records: Sequence[MetadataRecord], provenance: Provenance) -> None:
        assert not self._began, "a snapshot comes before everything else"
        self._loader.load_snapshot(records, provenance)

    def publish_from(self, offset: int) -> None:
        """Said before the first batch: everything up to ``offset`` is history; :attr:`caught_up` is kept once it has been read."""
        self._first_offset = offset

    def apply(self, batches: Sequence[MetadataBatch]) -> None:
        self._queue.extend(batches)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._ended)

    async def _run(self) -> None:
        while self._queue:
            batch = self._queue.popleft()
            self.bytes_since_snapshot += batch.size_bytes
            loaded = self._loader.load(batch.records, batch.provenance)
            if batch.provenance.offset < self._first_offset:
                continue
            if loaded is not None:
                delta, image = loaded
                await self._publish(delta if self._began else delta_from_nothing(image), image)
                self._began = True
            if not self.caught_up.done:
                self.caught_up.resolve(None)

    async def _publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        effective = EffectiveConfigs(self._settings, image.configs, self._node_id) if delta.configs.changed else self.effective
        for publisher in self.publishers:
            await publisher.publish(delta, image, effective)
        self.image, self.effective = image, effective
        while self._waiting and self._waiting[0][0] <= image.provenance.offset:
            heapq.heappop(self._waiting)[2].resolve(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is not None:
            failure = task.exception()
            assert failure is not None
            self._on_fatal(failure)
        elif self._queue and not task.cancelled():
            self.apply(())

    def applied(self, offset: int) -> Promise[None]:
        """Kept once the record at ``offset`` has been published here."""
        promise: Promise[None] = Promise()
        if offset <= self.image.provenance.offset:
            promise.resolve(None)
        else:
            heapq.heappush(self._waiting, (offset, next(self._order), promise))
        return promise
