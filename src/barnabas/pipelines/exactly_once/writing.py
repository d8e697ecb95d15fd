"""One writer's part of one batch: already written, or written now in one transaction.

This runs inside a Spark task, but does not depend on Spark: rows arrive as Arrow batches. Producers
stay open from batch to batch, because a new one costs some round trips and a connection. The next
batch may go to another process, whose new producer then fences ours. So the marker goes into the
transaction before the first row: a fenced producer fails there, while a new one can still take the
rows.

step      action                                        failure
=======   ===========================================   ============================================
claim     read the marker, begin, put the marker into   fenced and kept, or the group's coordinator
          the transaction                               died: once more with a new producer
produce   the rows                                      fenced: a newer attempt writes them; wait
                                                        for its marker
commit    rows and marker become visible, or neither    failed or unknown: the next attempt finds
                                                        out
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.exactly_once.markers import MARKER_TOPIC, Marker, Markers
from barnabas.pipelines.exactly_once.records import produce_all
from barnabas.pipelines.transactional_producer import ANSWER_SECONDS_MAX, OFFSETS_SECONDS, OffsetsLost, flush, open_producer

# Producers (and groups) that a worker process keeps open: several queries with a few writers each.
# The least recently used one is closed.
KEPT_MAX = 16
# For flushing the buffer and both phases of the commit; the transaction's own timeout ends it in
# any case.
COMMIT_SECONDS_MAX = 300.0
# An abort only spares readers the wait for the timeout: a new producer or the timeout aborts as
# well.
ABORT_SECONDS_MAX = 10.0
# How long a fenced attempt waits for the newer one to start; once it has started, reading its
# marker waits for its end.
NEWER_ATTEMPT_SECONDS_MAX = 30.0
_NEWER_ATTEMPT_POLL_SECONDS = 0.2
# A task shares its worker with many others: it waits for the broker when this much is buffered.
_BUFFERED_KBYTES_MAX = 65_536
# Topics whose new leaders are asked for; librdkafka asks for those of the others, a little later.
_ASKED_TOPICS_MAX = 4

PRODUCER_DEFAULTS: Mapping[str, Any] = {
    # Java's partitioner, so that topics written by Spark, by Java and by us can be joined partition
    # by partition.
    "partitioner": "murmur2_random",
    # Longer than slow steps take to produce their rows. read_committed consumers wait this long for
    # a pipeline that died and stays down.
    "transaction.timeout.ms": 300_000,
    # The transaction fails as a whole, so reports of single records are not needed.
    "delivery.report.only.error": True,
    "queue.buffering.max.kbytes": _BUFFERED_KBYTES_MAX,
    "linger.ms": 20,
}


@dataclass(frozen=True, slots=True)
class Part:
    """One writer's work in one batch."""

    group: str
    writer: int
    batch: int
    fingerprint: str  # of the batch: the same when it is run again

    @property
    def transactional_id(self) -> str:
        return f"{self.group}.{self.writer}"

    @property
    def marker(self) -> Marker:
        return Marker(self.batch + 1, self.fingerprint)

    def is_written(self, marker: Marker | None) -> bool:
        if marker is None or marker.next_batch <= self.batch:
            return False
        if marker.next_batch > self.batch + 1:
            raise RunFailed(
                f"Writer {self.writer} has written batch {marker.next_batch - 1} already, but Spark runs batch {self.batch}: the "
                "checkpoint is older than the output. Use the newer checkpoint, or start with a new one."
            )
        if marker.fingerprint != self.fingerprint:
            raise RunFailed(
                f"Batch {self.batch} was written by writer {self.writer} as {marker.fingerprint!r} and is now {self.fingerprint!r}: "
                "the checkpoint was changed, so it is unknown which rows are written already. Start with a new checkpoint."
            )
        return True


@dataclass(frozen=True, slots=True)
class Written:
    rows: int
    was_there: bool = False  # another attempt had written the rows


def write_part(part: Part, chunks: Iterator[pa.RecordBatch], *, client: Mapping[str, Any], producer: Mapping[str, Any]) -> Written:
    """``client`` configures the connection to the cluster, ``producer`` the writing; both with
    librdkafka's names. Consumes all chunks."""
    first = next(chunks, None)
    while first is not None and first.num_rows == 0:
        first = next(chunks, None)
    if first is None:
        # No rows, no transaction: a small batch costs only the writers that have rows.
        return Written(0)
    markers = _kept_markers(client, part.group)
    claimed = _claim(part, markers, {**client, **PRODUCER_DEFAULTS, **producer})
    if claimed is None:
        _drain(chunks)
        return Written(0, was_there=True)
    return _write(part, claimed, markers, first, chunks)


# -- the three steps -------------------------------------------------------------------------


def _claim(part: Part, markers: Markers, settings: Mapping[str, Any]) -> Any | None:
    """A producer with an open transaction that has the marker and no rows; None when there is
    nothing to write."""
    kept = _producers.pop(part.transactional_id, None)
    seconds = OFFSETS_SECONDS
    while True:
        producer = kept or _open(part, settings)
        try:
            if part.is_written(markers.read(part.writer)):
                _keep(part, producer)
                return None
            producer.begin_transaction()
            markers.add_to_transaction(producer, part.writer, part.marker, seconds)
        except KafkaException as failed:
            _abandon(producer)
            lost = isinstance(failed, OffsetsLost)
            if kept is None and not (lost and seconds < ANSWER_SECONDS_MAX):
                raise RunFailed(f"Writer {part.writer} cannot start batch {part.batch}: {failed.args[0].str()}.") from failed
            # Fenced by another process since its last batch, which is normal; or a coordinator has
            # died, or is slow.
            kept = None
            seconds *= 2 if lost else 1
        else:
            return producer


def _write(part: Part, producer: Any, markers: Markers, first: pa.RecordBatch, chunks: Iterator[pa.RecordBatch]) -> Written:
    try:
        rows = produce_all(producer, first)
        for chunk in chunks:
            rows += produce_all(producer, chunk)
        flush(producer, first.column("topic").unique().to_pylist()[:_ASKED_TOPICS_MAX])
        _commit(producer)
    except KafkaException as failed:
        _abandon(producer)
        if _is_fenced(failed.args[0]) and _newer_attempt_wrote(part, markers):
            _drain(chunks)
            return Written(0, was_there=True)
        raise RunFailed(f"Writer {part.writer} cannot write batch {part.batch}: {failed.args[0].str()}.") from failed
    except BaseException:
        _abandon(producer)
        raise
    _keep(part, producer)
    return Written(rows)


def _newer_attempt_wrote(part: Part, markers: Markers) -> bool:
    """A newer attempt has fenced ours, so it is running. If this one failed at once, Spark would
    start a third one, which would fence the second."""
    deadline = time.monotonic() + NEWER_ATTEMPT_SECONDS_MAX
    while not part.is_written(markers.read(part.writer)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_NEWER_ATTEMPT_POLL_SECONDS)
    return True


def _commit(producer: Any) -> None:
    while True:
        try:
            producer.commit_transaction(COMMIT_SECONDS_MAX)
        except KafkaException as failed:
            if not failed.args[0].retriable():
                raise
        else:
            return


def _abandon(producer: Any) -> None:
    with suppress(KafkaException):
        producer.abort_transaction(ABORT_SECONDS_MAX)


# A producer returns the last one after it was fenced in the background. It may have another cause;
# then the only cost is a wait.
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FATAL)  # noqa: SLF001 - librdkafka's


def _is_fenced(error: KafkaError) -> bool:
    return error.code() in _FENCED


def _drain(chunks: Iterator[pa.RecordBatch]) -> None:
    """A worker with unread rows cannot take another task."""
    for _ in chunks:
        pass


# -- what a worker process keeps -------------------------------------------------------------

_producers: OrderedDict[str, Any] = OrderedDict()
_markers: OrderedDict[str, Markers] = OrderedDict()


def _open(part: Part, settings: Mapping[str, Any]) -> Any:
    try:
        return open_producer({**settings, "transactional.id": part.transactional_id}, known_topic=MARKER_TOPIC)
    except KafkaException as failed:
        raise RunFailed(f"Writer {part.writer} cannot start to write: {failed.args[0].str()}.") from failed


def _keep(part: Part, producer: Any) -> None:
    _producers[part.transactional_id] = producer
    if len(_producers) > KEPT_MAX:
        # It has no transaction open, so this does not wait for the broker.
        _producers.popitem(last=False)[1].close()


def close_kept() -> None:
    """For a process that continues without writing; Spark's workers end instead."""
    while _producers:
        _producers.popitem()[1].close()
    while _markers:
        _markers.popitem()[1].close()


def _kept_markers(client: Mapping[str, Any], group: str) -> Markers:
    found = _markers.pop(group, None) or Markers(client, group)
    _markers[group] = found
    if len(_markers) > KEPT_MAX:
        _markers.popitem(last=False)[1].close()
    return found
