"""One writer's part of one batch: found to be written already, or written in one transaction.

This is what runs inside a Spark task, but it knows nothing of Spark: rows come as Arrow batches. Producers stay open from batch to batch,
because a new one costs some round trips and a connection; the next batch may be given to another process, whose new producer then fences
ours. So the marker goes into the transaction before the first row does: a producer that was overtaken learns it there, while rows can
still be given to a new one.

    claim       read the marker, begin, put the marker into the transaction     fenced and kept: once more with a new producer
    produce     the rows                                                        fenced: a newer attempt writes them; wait for its marker
    commit      rows and marker become visible, or neither                      failed or unknown: the next attempt finds out
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
from barnabas.pipelines.transactional_producer import open_producer

# Producers (and groups) that a worker process keeps open: several queries with a few writers each. The one used longest ago is closed.
KEPT_MAX = 16
# Flushing what is buffered and both phases of the commit; the transaction's own timeout ends it in any case.
COMMIT_SECONDS_MAX = 300.0
# Only politeness, so that readers need not wait for the timeout: a new producer or the timeout aborts as well.
ABORT_SECONDS_MAX = 10.0
# How long a fenced attempt waits for the newer one to begin; once it has begun, reading its marker waits for its end.
NEWER_ATTEMPT_SECONDS_MAX = 30.0
_NEWER_ATTEMPT_POLL_SECONDS = 0.2
# A task is a worker with many others: this much is buffered before it waits for the broker.
_BUFFERED_KBYTES_MAX = 65_536

PRODUCER_DEFAULTS: Mapping[str, Any] = {
    # Java's choice of partition, so that topics written by Spark, by Java and by us can be joined partition by partition.
    "partitioner": "murmur2_random",
    # Longer than slow steps take to give their rows; readers of committed records wait that long for a pipeline that died and stays dead.
    "transaction.timeout.ms": 300_000,
    # The transaction fails as a whole, so nobody asks about single records.
    "delivery.report.only.error": True,
    "queue.buffering.max.kbytes": _BUFFERED_KBYTES_MAX,
    "linger.ms": 20,
}


@dataclass(frozen=True, slots=True)
class Part:
    """What one writer has to do in one batch."""

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
                "checkpoint is older than the output. Run on with the newer checkpoint, or begin with a new one."
            )
        if marker.fingerprint != self.fingerprint:
            raise RunFailed(
                f"Batch {self.batch} was written by writer {self.writer} as {marker.fingerprint!r} and is now {self.fingerprint!r}: "
                "the checkpoint was changed, so what is written already cannot be told from what is not. Begin with a new checkpoint."
            )
        return True


@dataclass(frozen=True, slots=True)
class Written:
    rows: int
    was_there: bool = False  # another attempt had written them


def write_part(part: Part, chunks: Iterator[pa.RecordBatch], *, client: Mapping[str, Any], producer: Mapping[str, Any]) -> Written:
    """``client`` says how the cluster is reached, ``producer`` how it is written to; both in librdkafka's words. Takes all chunks."""
    first = next(chunks, None)
    while first is not None and first.num_rows == 0:
        first = next(chunks, None)
    if first is None:
        return Written(0)  # no rows, no transaction: a small batch over many writers costs only those that have some
    markers = _kept_markers(client, part.group)
    claimed = _claim(part, markers, {**client, **PRODUCER_DEFAULTS, **producer})
    if claimed is None:
        _drain(chunks)
        return Written(0, was_there=True)
    return _write(part, claimed, markers, first, chunks)


# -- the three steps --------------------------------------------------------------------------------------------------------------


def _claim(part: Part, markers: Markers, settings: Mapping[str, Any]) -> Any | None:
    """A producer with a transaction that has the marker and no rows; None when there is nothing to write."""
    kept = _producers.pop(part.transactional_id, None)
    while True:
        producer = kept or _open(part, settings)
        try:
            if part.is_written(markers.read(part.writer)):
                _keep(part, producer)
                return None
            producer.begin_transaction()
            markers.add_to_transaction(producer, part.writer, part.marker)
        except KafkaException as failed:
            _abandon(producer)
            if kept is None:
                raise RunFailed(f"Writer {part.writer} cannot begin batch {part.batch}: {failed.args[0].str()}.") from failed
            kept = None  # overtaken by another process since its last batch, which is ordinary
        else:
            return producer


def _write(part: Part, producer: Any, markers: Markers, first: pa.RecordBatch, chunks: Iterator[pa.RecordBatch]) -> Written:
    try:
        rows = produce_all(producer, first)
        for chunk in chunks:
            rows += produce_all(producer, chunk)
        _commit(producer)
    except KafkaException as failed:
        _abandon(producer)
        if _is_fenced(failed.args[0]) and _is_written_soon(part, markers):
            _drain(chunks)
            return Written(0, was_there=True)
        raise RunFailed(f"Writer {part.writer} cannot write batch {part.batch}: {failed.args[0].str()}.") from failed
    except BaseException:
        _abandon(producer)
        raise
    _keep(part, producer)
    return Written(rows)


def _is_written_soon(part: Part, markers: Markers) -> bool:
    """A newer attempt has fenced ours, so it is at work. To fail at once would only make Spark start a third, which fences the second."""
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


# The last is what a producer answers once it has been fenced in the background; that it may have another reason costs only a wait.
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FATAL)  # noqa: SLF001 - librdkafka's


def _is_fenced(error: KafkaError) -> bool:
    return error.code() in _FENCED


def _drain(chunks: Iterator[pa.RecordBatch]) -> None:
    """A worker that leaves rows unread cannot be given another task."""
    for _ in chunks:
        pass


# -- what a worker process keeps --------------------------------------------------------------------------------------------------

_producers: OrderedDict[str, Any] = OrderedDict()
_markers: OrderedDict[str, Markers] = OrderedDict()


def _open(part: Part, settings: Mapping[str, Any]) -> Any:
    try:
        return open_producer({**settings, "transactional.id": part.transactional_id}, known_topic=MARKER_TOPIC)
    except KafkaException as failed:
        raise RunFailed(f"Writer {part.writer} cannot begin to write: {failed.args[0].str()}.") from failed


def _keep(part: Part, producer: Any) -> None:
    _producers[part.transactional_id] = producer
    if len(_producers) > KEPT_MAX:
        # It has no transaction open, so this does not wait for the broker.
        _producers.popitem(last=False)[1].close()


def close_kept() -> None:
    """For a process that goes on without writing; a worker of Spark's ends instead."""
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
