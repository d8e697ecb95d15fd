"""A follower that begins where its leader's local log begins. Everything below is remote, and so
are the leader epochs and the producers there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.replication.follower_fetch import TieredStart
from barnabas.replication.following import lacks_its_past
from barnabas.replication.partition import Partition
from barnabas.telemetry.logs import EventLog
from barnabas.tiered.aux_state import AuxState, fetch_aux_state
from barnabas.tiered.remote_storage import RemoteStorage
from barnabas.tiered.store.store import RemoteStoreError
from barnabas.tiered.tiered_partition import TieredPartition


class FollowerStarts:
    def __init__(
        self,
        storage: RemoteStorage,
        log: EventLog,
        tiered: Callable[[Partition], TieredPartition | None],
        on_disk_failure: Callable[[Partition, OSError], None],
        write_starts: Callable[[Partition], asyncio.Future[None]],
    ) -> None:
        """``write_starts`` makes the log start offsets of a partition's directory durable."""
        self._storage = storage
        self._log = log
        self._tiered = tiered
        self._on_disk_failure = on_disk_failure
        self._write_starts = write_starts

    def build(self, partition: Partition, start: TieredStart, built: Callable[[bool], None]) -> None:
        """Call ``built(False)`` where remote storage cannot help now: the follower asks its leader
        again, which may have another start by then."""
        tiered = self._tiered(partition)
        segment = tiered.segment_before(start.offset, start.leader_epoch) if tiered is not None and tiered.ready else None
        if segment is None:
            # The leader knows the segment, so this broker is about to read about it in the metadata
            # topic.
            built(False)
            return
        storage, epoch = self._storage, partition.leader_epoch
        topic = partition.partition.topic
        storage.metrics.aux_states(topic).value += 1
        fetching = storage.expirers.run(lambda: fetch_aux_state(storage.store, storage.names, segment))

        def came(done: asyncio.Future[AuxState]) -> None:
            failure = None if done.cancelled() else done.exception()
            if done.cancelled() or failure is not None:
                storage.metrics.aux_state_errors(topic).value += 1
                expected = failure is None or isinstance(failure, RemoteStoreError)
                say = self._log.warning if expected else self._log.error
                say("a follower cannot begin", partition=str(partition.partition), error=str(failure) if expected else repr(failure))
                built(False)
                return
            if not self._begin(partition, epoch, start, done.result()):
                built(False)
                return
            # Nothing else on this disk has the log start: without this, a restarted broker would
            # take the beginning of its local log for it.
            self._write_starts(partition).add_done_callback(lambda written: self._written(partition, written, built))

        fetching.add_done_callback(came)

    def _written(self, partition: Partition, written: asyncio.Future[None], built: Callable[[bool], None]) -> None:
        failure = None if written.cancelled() else written.exception()
        if isinstance(failure, OSError):
            self._on_disk_failure(partition, failure)
        built(failure is None)

    def _begin(self, partition: Partition, epoch: int, start: TieredStart, state: AuxState) -> bool:
        if partition.leads or not partition.online or partition.leader_epoch != epoch:
            return False
        end = partition.log.log_end_offset
        if end > state.offset or (end == state.offset and not lacks_its_past(partition.log)):
            return False
        try:
            partition.restart_tiered(
                state.offset, log_start_offset=start.log_start_offset, leader_epochs=state.leader_epochs, producers=state.producers
            )
        except OSError as error:
            self._on_disk_failure(partition, error)
            return False
        self._log.info("a follower begins where its leader's local log does", partition=str(partition.partition), offset=state.offset)
        return True
