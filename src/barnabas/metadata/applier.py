"""Applies committed batches in order: first the loader, then the publishers, then the promises that
wait for the offset.

Two images exist while a batch is being published. Request handlers read
:attr:`MetadataApplier.image`, which changes only after the publishers have acted on it: a topic is
visible when its logs exist. Publishers, and everything that acts because of them (replicas,
fetchers, coordinators), read :attr:`MetadataApplier.newest`, which changes before the first
publisher runs. Otherwise a leader that learns of a fenced follower would look that follower up in
the previous image, find it alive, and wait for it.

A publisher may be slow (it creates files on a worker thread); later batches wait for it. Big
batches are decoded, replayed and published in slices (:mod:`barnabas.env.slices`), so the node
serves requests, heartbeats and votes while it creates ten thousand partitions. Neither image shows
a part of a batch: both change between slices only when a whole batch is loaded, or published.

The state at start (a snapshot, and the log up to the offset where the node joins) is published
once, as one delta from an empty image. Publishing it batch by batch would repeat history on today's
files: a topic that was deleted and created again would be deleted again. A later snapshot, for a
node that fell behind, is likewise published as one delta from the current image.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Protocol

from barnabas.config.settings import BrokerSettings
from barnabas.env.slices import in_slices
from barnabas.metadata.delta_between import delta_between
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.loader import Loader
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.dataclass import dataclass
from barnabas.model.promise import Promise
from barnabas.wire.metadata_records import MetadataRecord


@dataclass(frozen=True, slots=True)
class MetadataBatch:
    """The records of one batch, and the provenance of the last one. Control batches have no
    records, but advance the offset.
    """

    records: Iterable[MetadataRecord]
    provenance: Provenance
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Replaces all records up to its provenance."""

    records: Sequence[MetadataRecord]
    provenance: Provenance


class MetadataView(Protocol):
    """An image with its effective settings: the published one (:class:`MetadataApplier` itself) or
    the newest one.
    """

    @property
    def image(self) -> MetadataImage: ...

    @property
    def effective(self) -> EffectiveConfigs: ...


class Publisher(Protocol):
    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None: ...


@dataclass(slots=True)
class NewestMetadata:
    """The image that is being published, or the last published one."""

    image: MetadataImage
    effective: EffectiveConfigs


class MetadataApplier:
    def __init__(self, settings: BrokerSettings, node_id: int, on_fatal: Callable[[BaseException], None]) -> None:
        self._settings = settings
        self._node_id = node_id
        self._on_fatal = on_fatal
        self._loader = Loader()
        self._queue: deque[MetadataBatch | Snapshot] = deque()
        self._waiting = _ByOffset()  # Promises until published.
        self._reading = _ByOffset()  # Promises until read.
        self._read_offset = -1
        self._task: asyncio.Task[None] | None = None
        self._first_offset: int | None = None  # The first offset to publish.
        self.began = False
        self.publishers: list[Publisher] = []
        self.image = MetadataImage()
        self.effective = EffectiveConfigs(settings, self.image.configs, node_id)
        self.newest = NewestMetadata(self.image, self.effective)
        self.bytes_since_snapshot = 0
        self.caught_up: Promise[None] = Promise()

    @property
    def loaded(self) -> MetadataImage:
        """The image of all records read so far, published or not; the start of a snapshot or of a
        new controller.
        """
        return self._loader.image

    @property
    def in_transaction(self) -> bool:
        """Whether the records read so far end inside a metadata transaction."""
        return self._loader.in_transaction

    def publish_from(self, offset: int) -> None:
        """Everything up to ``offset`` is history; :attr:`caught_up` resolves once it is read and
        published. Nothing is published before this call.
        """
        assert self._first_offset is None, "publish_from is called once"
        self._first_offset = offset
        self._wake()

    def apply(self, batches: Sequence[MetadataBatch | Snapshot]) -> None:
        self._queue.extend(batches)
        self._wake()

    def _wake(self) -> None:
        if self._task is None and (self._queue or self._publishing_due):
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._ended)

    @property
    def _publishing_due(self) -> bool:
        return not self.began and self._first_offset is not None and self._loader.image.provenance.offset >= self._first_offset

    async def _run(self) -> None:
        while self._queue or self._publishing_due:
            delta = await self._load(self._queue.popleft()) if self._queue else None
            image = self._loader.image
            self._reading.reached(self._read_offset)
            if self._publishing_due:
                self.began = True
                await self._publish(await _delta_from_empty(image), image)
                self.caught_up.resolve(None)
            elif self.began and delta is not None:
                await self._publish(delta, image)

    async def _load(self, step: MetadataBatch | Snapshot) -> MetadataDelta | None:
        """The delta to publish; None inside a metadata transaction."""
        if isinstance(step, Snapshot):
            before = self._loader.image
            if step.provenance.offset <= self._read_offset:
                return None
            self._read_offset = step.provenance.offset
            _, image = self._loader.load_snapshot(step.records, step.provenance)
            self.bytes_since_snapshot = 0
            return delta_between(before, image)
        if step.provenance.offset <= self._read_offset:
            return None  # A snapshot that came in between contains it.
        loading = _Loading(self._loader, step)
        async for _ in in_slices(loading):
            pass
        self._read_offset = step.provenance.offset
        self.bytes_since_snapshot += step.size_bytes
        return loading.delta

    async def _publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        effective = EffectiveConfigs(self._settings, image.configs, self._node_id) if delta.configs.changed else self.effective
        self.newest.image, self.newest.effective = image, effective
        for publisher in self.publishers:
            await publisher.publish(delta, image, effective)
        self.image, self.effective = image, effective
        self._waiting.reached(image.provenance.offset)

    def stop(self) -> None:
        """Apply nothing more: the node is stopping, and its next start applies the rest."""
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is not None:
            failure = task.exception()
            assert failure is not None
            self._on_fatal(failure)
        elif not task.cancelled():
            self._wake()

    def applied(self, offset: int) -> Promise[None]:
        """Resolves once the record at ``offset`` is published here."""
        return self._waiting.until(offset, self.image.provenance.offset)

    def read(self, offset: int) -> Promise[None]:
        """Resolves once the record at ``offset`` is read: it is in :attr:`loaded`, unless a
        metadata transaction is open there.
        """
        return self._reading.until(offset, self._read_offset)


async def _delta_from_empty(image: MetadataImage) -> MetadataDelta:
    """All of ``image`` as a change, for publishers that have seen no image yet."""
    delta = MetadataDelta(MetadataImage())
    async for record in in_slices(image.records()):
        delta.replay(record)
    delta.finish(image.provenance)
    return delta


class _Loading:
    """The steps of loading one batch, and the resulting delta."""

    def __init__(self, loader: Loader, batch: MetadataBatch) -> None:
        self._steps = loader.loading(batch.records, batch.provenance)
        self.delta: MetadataDelta | None = None

    def __iter__(self) -> Iterator[None]:
        loaded = yield from self._steps
        self.delta = loaded[0] if loaded is not None else None


class _ByOffset:
    """Promises that resolve when an offset is reached."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Promise[None]]] = []
        self._order = count()

    def until(self, offset: int, reached: int) -> Promise[None]:
        promise: Promise[None] = Promise()
        if offset <= reached:
            promise.resolve(None)
        else:
            heapq.heappush(self._waiting, (offset, next(self._order), promise))
        return promise

    def reached(self, offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= offset:
            heapq.heappop(self._waiting)[2].resolve(None)
