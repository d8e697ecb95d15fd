"""One replica of one partition on this node: its log, and its role as leader or follower.

    high watermark      all in-sync replicas have the offsets below it; consumers see none above
    last stable offset  the high watermark, or the first offset of an open transaction below it

A leader appends the batches of producers, and advances the high watermark when the fetches of its
followers show that they have them. A follower appends the batches it fetched, and learns the high
watermark from the responses. Its high watermark falls only when its log is truncated below it.

    follows --metadata names this node--> leads: its epoch begins at its log end offset; committed
                                          offsets stay committed
    leads --metadata names another--> follows: requests that wait for an acknowledgement get
                                      NOT_LEADER_OR_FOLLOWER

The state is in three parts: :class:`~.role.Role`, :class:`~.commit_progress.CommitProgress` (high
watermark, waiting requests) and :class:`~.health.ReplicaHealth` (corruption, moves). A partition
with one replica, as on a single node, pays for none of this: ``role.alone`` is checked first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from barnabas.env.disk import out_of_room
from barnabas.metadata.topics import PartitionImage
from barnabas.model.buffers import Buffer
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.model.promise import Promise
from barnabas.records.batch_header import ATTRIBUTES_LOW_BYTE_POSITION, HEADER_BYTES, TRANSACTIONAL_BIT, BatchHeader, read_header
from barnabas.records.batches import CorruptBatch
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.validation import Accepted, Refused, validate
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.commit_progress import CommitProgress
from barnabas.replication.following import append_fetched, begin_tiered, truncation_offset
from barnabas.replication.future_replica import FutureReplica
from barnabas.replication.health import ReplicaHealth
from barnabas.replication.isr import IsrAnswer, IsrChange
from barnabas.replication.leadership import Leadership
from barnabas.replication.role import Role
from barnabas.replication.topic_counters import TopicCounters
from barnabas.replication.verification import Verification, Verifications
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import Appended, Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.producer_state import Producer, SentBatch

ACKS_ALL = -1

_NOT_LEADER = Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this broker does not lead the partition")
_OFFLINE = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the partition's log directory has failed")
_TOO_FEW_REPLICAS = Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "fewer replicas are in sync than min.insync.replicas demands")
# The only refusal that is not final: with a verification the same batch may be accepted.
NOT_VERIFIED = Refused(ErrorCode.INVALID_TXN_STATE, "no transaction of this producer is open here")
# A producer's batch, its acks, and the coordinator's verification of its transaction, if any.
ProducedBatch: TypeAlias = tuple[memoryview | None, int, Verification | None]
_REPLICATED: Final[Promise[ErrorCode]] = Promise.kept(ErrorCode.NONE)


class Partition:
    __slots__ = (
        "cluster_view",
        "counters",
        "directory",
        "health",
        "log",
        "node_id",
        "partition",
        "progress",
        "role",
        "topic_id",
        "verifications",
    )

    def __init__(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        log: Log,
        directory: LogDirectory,
        *,
        node_id: int,
        high_watermark: int,
        counters: TopicCounters,
        cluster_view: ClusterView | None = None,
    ) -> None:
        self.partition = partition
        self.topic_id = topic_id
        self.log = log
        self.directory = directory
        self.node_id = node_id
        self.counters = counters
        self.cluster_view = cluster_view or ClusterView()
        self.role = Role()
        self.progress = CommitProgress(high_watermark)
        self.health = ReplicaHealth()
        self.verifications = Verifications()
        # Opening a log replays the ends of transactions without knowing which of them are on all
        # replicas.
        log.producers.replicated_up_to(high_watermark)

    # -- shorthands for other modules --------------------------------------------------------------

    @property
    def leads(self) -> bool:
        return self.role.leads

    @property
    def leader(self) -> int:
        return self.role.leader

    @property
    def leader_epoch(self) -> int:
        return self.role.leader_epoch

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.role.replicas

    @property
    def isr(self) -> tuple[int, ...]:
        return self.role.isr

    @property
    def leadership(self) -> Leadership | None:
        return self.role.leadership

    @property
    def high_watermark(self) -> int:
        return self.progress.high_watermark

    # -- roles -------------------------------------------------------------------------------------

    def follow_metadata(self, image: PartitionImage, now_ms: int = 0) -> None:
        """Take the role that the metadata gives. A new leader writes its epoch to disk before it
        accepts a batch from a producer.

        ``now_ms`` is monotonic. Metadata older than the controller's last response is ignored.
        """
        role = self.role
        leadership, led, epoch = role.leadership, role.leads, role.leader_epoch
        if leadership is not None and image.partition_epoch < leadership.isr.partition_epoch:
            return
        role.take(image, node_id=self.node_id, online=self.online)
        if not role.leads:
            role.isr = image.isr
            if led or epoch != image.leader_epoch:
                self.resign()
            damage = self.health.damage
            if damage is not None and image.leader != self.node_id and self.node_id not in image.isr:
                self._drop_damage(damage)
            return
        role.lag = 0
        if leadership is None or not led or epoch != image.leader_epoch:
            end = self.log.log_end_offset
            self.log.leader_epochs.assign(role.leader_epoch, end)
            role.leadership = Leadership(
                image, self.cluster_view, node_id=self.node_id, log_end_offset=end, now_ms=now_ms, before=leadership if led else None
            )
        else:
            leadership.follow(image)
        assert role.leadership is not None
        role.isr = role.leadership.isr.committed
        self._advance_high_watermark()

    def resign(self) -> None:
        """Stop leading. Waiting requests end, so that their clients look for the new leader."""
        self.role.leads = False
        self.role.leadership = None
        self.progress.end_all_waits(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    @property
    def online(self) -> bool:
        return self.directory.failure is None and self.health.damage is None

    def found_damage(self, offset: int) -> bool:
        """The batch at ``offset`` no longer matches its checksum. Returns whether others have it.

        If so, nothing is served from here until this replica has left the ISR; then it may
        truncate its log and fetch again. The only copy is kept as it is.
        """
        if self.health.damage is not None or set(self.role.isr) <= {self.node_id}:
            return False
        self.health.damage = offset
        self.resign()
        return True

    def _drop_damage(self, offset: int) -> None:
        try:
            self.truncate_to(offset)
        except CorruptBatch:
            # No batch can be found in this segment any more.
            self.restart_at(self.log.log_start_offset)
        self.health.damage = None

    # -- producing ---------------------------------------------------------------------------------

    def append(self, records: memoryview | None, acks: int, now_ms: int, verification: Verification | None = None) -> Appended | Refused:
        """The case of :meth:`append_batches` with one batch."""
        return self.append_batches(((records, acks, verification),), now_ms)[0]

    def append_batches(self, batches: Sequence[ProducedBatch], now_ms: int) -> Sequence[Appended | Refused]:
        """Append producers' batches with one write.

        Returns the outcomes of the first batches, at least of one; the caller calls again with the
        rest. ``OSError`` means that the disk failed and none of these batches was written: the
        directory must be taken offline.

        A refused batch is handled alone, and so is a transactional one: its check needs the
        batches before it in the log. The first batch of a transaction needs a verification by the
        coordinator, and is :data:`NOT_VERIFIED` without.
        """
        role, log = self.role, self.log
        if not role.leads:
            return [_NOT_LEADER if self.online else _OFFLINE]
        if self.health.truncation_unsaved:
            self._save_truncation()
        too_few = not role.alone and self.under_min_isr
        rules = log.settings.rules
        valid: list[Accepted] = []
        for records, acks, verification in batches:
            if too_few and acks == ACKS_ALL:
                if valid:
                    break
                return [_TOO_FEW_REPLICAS]
            transactional = False
            if records is not None and len(records) >= HEADER_BYTES and records[ATTRIBUTES_LOW_BYTE_POSITION] & TRANSACTIONAL_BIT:
                if valid:
                    break
                if not self._transaction_is_open(read_header(records), verification):
                    # Refuse before the batch is modified: it may come again, verified.
                    return [NOT_VERIFIED]
                transactional = True
            each = validate(records, rules, now_ms)
            if isinstance(each, Refused):
                if valid:
                    break
                self.counters.batches_refused.value += 1
                return [each]
            valid.append(each)
            if transactional:
                break
        end_offset = log.log_end_offset
        outcomes = log.append_batches(valid, role.leader_epoch, now_ms)
        added = log.log_end_offset - end_offset
        if added:
            count = len(outcomes)
            size_bytes = len(valid[0].batch) if count == 1 else sum([len(each.batch) for each in valid[:count]])
            counters = self.counters
            counters.bytes_in.value += size_bytes
            counters.records_in.value += added
            self._grew(size_bytes)
        elif isinstance(outcomes[0], Refused):
            self.counters.batches_refused.value += 1
        return outcomes

    def append_own(self, batch: bytearray, now_ms: int) -> Appended | Refused:
        """Append a batch of a coordinator on this node. Its contents need no checks, but it needs
        enough in-sync replicas."""
        refused = self._refuses_own()
        if refused is not None:
            return refused
        if len(batch) > self.log.settings.rules.size_bytes_max:
            return Refused(ErrorCode.MESSAGE_TOO_LARGE, f"the coordinator's batch of {len(batch)} bytes is larger than the topic allows")
        return self._append_own(batch, now_ms)

    def end_transaction(
        self, kind: ControlType, *, producer_id: int, producer_epoch: int, coordinator_epoch: int, epoch_rises: bool, now_ms: int
    ) -> Appended | Refused:
        """Write the marker that ends a producer's transaction, even if none is open here: the
        coordinator cannot know that."""
        refused = self._refuses_own() or self.log.producers.check_marker(
            producer_id, producer_epoch, coordinator_epoch, epoch_rises=epoch_rises
        )
        if refused is not None:
            return refused
        # A request may be asking the coordinator now whether this transaction is open. Its answer
        # is outdated.
        self.verifications.void(producer_id)
        marker = build_end_transaction(
            kind, coordinator_epoch=coordinator_epoch, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=now_ms
        )
        return self._append_own(marker, now_ms)

    def _refuses_own(self) -> Refused | None:
        if not self.role.leads:
            return _NOT_LEADER if self.online else _OFFLINE
        if self.health.truncation_unsaved:
            self._save_truncation()
        return _TOO_FEW_REPLICAS if self.under_min_isr else None

    def _append_own(self, batch: bytearray, now_ms: int) -> Appended | Refused:
        view = memoryview(batch)
        outcome = self.log.append(view, read_header(view), self.role.leader_epoch, now_ms, from_client=False)
        if isinstance(outcome, Appended):
            self._grew(len(batch))
        return outcome

    def _transaction_is_open(self, header: BatchHeader, verification: Verification | None) -> bool:
        producers = self.log.producers
        if verification is None and self.verifications.has(header.producer_id):
            # An earlier batch of this producer waits for the coordinator, and goes first.
            return False
        if producers.in_transaction(header.producer_id, header.producer_epoch):
            return True
        if self.verifications.accepts(verification, header.producer_id, header.producer_epoch):
            return True
        # The retry of a batch gets the same response as the first attempt, even after the end of
        # its transaction.
        return isinstance(producers.check(header), SentBatch)

    def _grew(self, size_bytes: int) -> None:
        progress = self.progress
        if self.role.alone:
            self._commit(self.log.log_end_offset)
            if progress.readers:
                self._wake_readers(size_bytes)
            return
        progress.hide(self.log.log_end_offset, size_bytes)
        self._advance_high_watermark()
        progress.wake_followers(size_bytes)

    def _wake_readers(self, size_bytes: int) -> None:
        self.progress.wake_readers(size_bytes, stable=self.last_stable_offset == self.progress.high_watermark)

    # -- the high watermark ------------------------------------------------------------------------

    @property
    def min_insync_replicas(self) -> int:
        """The setting, but never more than the partition has replicas."""
        return min(self.log.settings.min_insync_replicas, len(self.role.replicas))

    @property
    def under_min_isr(self) -> bool:
        return len(self.role.isr) < self.min_insync_replicas

    def replicated(self, end_offset: int) -> Promise[ErrorCode]:
        """NONE once all in-sync replicas have everything below ``end_offset``.

        NOT_LEADER_OR_FOLLOWER if this node resigns first, and NOT_ENOUGH_REPLICAS_AFTER_APPEND if
        the ISR has become too small by then.
        """
        if not self.role.leads:
            return Promise.kept(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if end_offset <= self.progress.high_watermark:
            return _REPLICATED if self.role.alone else Promise.kept(self._replicated_enough())
        return self.progress.await_replicas(end_offset)

    def _replicated_enough(self) -> ErrorCode:
        leadership = self.role.leadership
        enough = leadership is None or len(leadership.isr.maximal) >= self.min_insync_replicas
        return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def _advance_high_watermark(self) -> None:
        if self.role.alone:
            high_watermark = self.log.log_end_offset
        elif self.role.leadership is None or self.under_min_isr:
            # Below min.insync.replicas nothing new is committed, with any acks: the eligible
            # leader replicas outside of the ISR (KIP-966) have everything that was committed, and
            # this must stay true.
            return
        else:
            high_watermark = self.role.leadership.high_watermark(self.log.log_end_offset)
        if high_watermark > self.progress.high_watermark:
            self._commit(high_watermark)

    def _commit(self, high_watermark: int) -> None:
        progress = self.progress
        progress.high_watermark = high_watermark
        producers = self.log.producers
        if producers.unreplicated:
            producers.replicated_up_to(high_watermark)
        if progress.replicating:
            progress.acknowledge(self._replicated_enough())
        if progress.invisible:
            size_bytes = progress.uncover()
            if progress.readers:
                self._wake_readers(size_bytes)

    # -- followers of this leader ------------------------------------------------------------------

    def follower_fetched(self, replica: int, *, offset: int, log_start_offset: int, replica_epoch: int, now_ms: int) -> ErrorCode:
        """Record that a follower fetches from ``offset``: it has everything below.

        NOT_LEADER_OR_FOLLOWER unless the fetch comes from the registered incarnation of the
        follower's broker (KIP-903). It may be an earlier incarnation; a newer one that this node
        does not know yet, which retries; or a client that only claims to be that broker and does
        not know its epoch (CVE-2018-1288).
        """
        leadership = self.role.leadership
        if leadership is None or replica not in leadership.followers:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        broker = self.cluster_view.broker(replica)
        if broker is not None and replica_epoch != broker.epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        end, progress = self.log.log_end_offset, leadership.followers[replica]
        progress.fetched(offset, log_start_offset=log_start_offset, replica_epoch=replica_epoch, leader_end_offset=end, now_ms=now_ms)
        progress.look(end, now_ms=now_ms, lag_ms_max=self.cluster_view.lag_ms_max)
        change = leadership.expand(replica, high_watermark=self.progress.high_watermark)
        if change is not None:
            self.cluster_view.propose(self, change)
        self._advance_high_watermark()
        if self.progress.deletions:
            self.progress.report_deletions(self.low_watermark)
        return ErrorCode.NONE

    def nothing_new(
        self,
        replica: int,
        *,
        offset: int,
        log_start_offset: int,
        leader_epoch: int,
        last_epoch: int,
        replica_epoch: int,
        now_ms: int,
    ) -> bool:
        """Whether an in-sync follower that has everything repeats its last fetch; if so, the fetch
        is recorded."""
        leadership, log = self.role.leadership, self.log
        if leadership is None or leader_epoch != self.role.leader_epoch or offset != log.log_end_offset:
            return False
        progress = leadership.followers.get(replica)
        return (
            progress is not None
            and replica in self.role.isr
            and last_epoch == log.leader_epochs.last_written(offset)
            and progress.still(offset, log_start_offset=log_start_offset, replica_epoch=replica_epoch, now_ms=now_ms)
        )

    def brokers_changed(self) -> None:
        """Brokers were fenced, unfenced or registered again.

        A follower whose broker is no longer active must stop holding the high watermark at once.
        If it was not in sync, the metadata of this partition does not change with it.
        """
        if self.role.leadership is None or self.role.alone:
            return
        self._advance_high_watermark()
        if self.progress.deletions:
            self.progress.report_deletions(self.low_watermark)

    def held_up_by(self) -> list[int]:
        """The replicas that hold the high watermark; empty when the ISR is too small to advance."""
        leadership = self.role.leadership
        return [] if leadership is None or self.under_min_isr else leadership.holding(self.log.log_end_offset)

    def check_isr(self, now_ms: int) -> IsrChange | None:
        """Propose to remove lagging followers from the ISR, and return the proposal, if any. To be
        called periodically."""
        if self.role.leadership is None or self.role.alone:
            return None
        change = self.role.leadership.shrink(self.log.log_end_offset, now_ms=now_ms)
        if change is not None:
            self.cluster_view.propose(self, change)
        # A follower that no longer keeps up may have held the high watermark without being in sync.
        self._advance_high_watermark()
        return change

    def isr_agreed(self, change: IsrChange, answer: IsrAnswer) -> bool:
        """The controller committed the proposal, perhaps with other changes. Returns whether the
        answer is newer than the known state."""
        leadership = self.role.leadership
        counters = self.cluster_view.counters
        if leadership is None or not leadership.isr.agreed(change, answer):
            counters.failed.value += 1
            return False
        (counters.expansions if change.grows else counters.shrinks).value += 1
        self.role.isr = leadership.isr.committed
        self._advance_high_watermark()
        return True

    def isr_refused(self, change: IsrChange, code: ErrorCode) -> bool:
        """Returns whether to propose the same again."""
        self.cluster_view.counters.failed.value += 1
        if self.role.leadership is None:
            return False
        again = self.role.leadership.isr.refused(change, code)
        # A follower that the controller did not add to the ISR no longer counts.
        self._advance_high_watermark()
        return again

    # -- following ---------------------------------------------------------------------------------

    def append_as_follower(self, records: Buffer, *, leader_epoch: int, now_ms: int) -> int:
        """Append batches from the leader of ``leader_epoch``; returns the number of bytes.

        Raises ``CorruptBatch`` for an invalid batch, and ``OSError`` when the disk failed.
        """
        assert not self.role.leads
        if self.health.truncation_unsaved:
            self._save_truncation()
        end = self.log.log_end_offset
        try:
            return append_fetched(self.log, records, leader_epoch=leader_epoch, now_ms=now_ms, begin_at=self.restart_at)
        finally:
            if self.log.log_end_offset > end:
                self.progress.hide(self.log.log_end_offset, len(records))

    def learn_offsets(self, *, high_watermark: int, log_start_offset: int) -> None:
        """Take the offsets of the leader's response, after its batches were appended."""
        self.role.lag = max(0, high_watermark - self.log.log_end_offset)
        high_watermark = min(high_watermark, self.log.log_end_offset)
        if high_watermark > self.progress.high_watermark:
            self._commit(high_watermark)
        start = min(log_start_offset, self.progress.high_watermark)
        if start > self.log.log_start_offset:
            self.log.advance_start(start)

    def truncate_by_epoch(self, diverging: EpochStart) -> None:
        """Truncate the records that the leader does not have. The next fetch may find another
        divergence, at a lower offset."""
        self.truncate_to(truncation_offset(self.log, diverging))

    def truncate_to(self, offset: int) -> None:
        assert not self.role.leads
        before = self.log.recovery_point
        self.log.truncate_to(offset)
        self._was_truncated(before)

    def restart_at(self, offset: int) -> None:
        """Delete everything and begin at ``offset``, where the leader's log begins."""
        assert not self.role.leads
        before = self.log.recovery_point
        self.log.truncate_fully(offset)
        self.progress.high_watermark = offset
        self._was_truncated(before)

    def restart_tiered(
        self, offset: int, *, log_start_offset: int, leader_epochs: Sequence[EpochStart], producers: Iterable[Producer]
    ) -> None:
        """Delete everything local and begin at ``offset``, where the leader's local log begins;
        the offsets below are in remote storage."""
        assert not self.role.leads
        before = self.log.recovery_point
        begin_tiered(self.log, offset, log_start_offset=log_start_offset, leader_epochs=leader_epochs, producers=producers)
        self.progress.high_watermark = offset
        self._was_truncated(before)

    def _was_truncated(self, recovery_point_before: int) -> None:
        log = self.log
        self.progress.high_watermark = min(self.progress.high_watermark, log.log_end_offset)
        # New records at the truncated offsets differ from those that were copied to remote storage.
        log.remote_end_offset = min(log.remote_end_offset, log.log_end_offset)
        log.producers.replicated_up_to(self.progress.high_watermark)
        self.progress.was_truncated()
        if self.health.future is not None:
            self.health.future.source_was_truncated()
        if log.recovery_point != recovery_point_before:
            try:
                self._save_truncation()
            except OSError as error:
                if not out_of_room(error):
                    raise

    def _save_truncation(self) -> None:
        """Write the recovery point before anything is appended.

        After a crash the old recovery point would make the new records look flushed. On a full
        disk this fails, and the next append does it.
        """
        self.health.truncation_unsaved = True
        self.directory.write_recovery_points()
        self.health.truncation_unsaved = False

    def exchange(self, future: FutureReplica) -> None:
        """Use the copy in the other directory, which is complete, as the log from now on."""
        assert future is self.health.future
        self.log, self.directory, self.health.future = future.log, future.directory, None

    @property
    def last_stable_offset(self) -> int:
        unstable = self.log.producers.first_unstable_offset()
        return self.progress.high_watermark if unstable is None else min(unstable, self.progress.high_watermark)

    @property
    def low_watermark(self) -> int:
        """The lowest log start offset of all live replicas."""
        start = self.log.log_start_offset
        return start if self.role.leadership is None or self.role.alone else self.role.leadership.low_watermark(start)

    def delete_records(self, offset: int) -> int:
        """Advance the log start offset to ``offset`` (-1: to the high watermark), and return it.

        Raises ``ValueError`` when it is out of range.
        """
        target = self.progress.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.progress.high_watermark:
            raise ValueError(f"offset {offset} is not between 0 and the high watermark {self.progress.high_watermark}")
        self.log.advance_start(target)
        return self.log.log_start_offset

    def deleted(self, offset: int) -> Promise[ErrorCode]:
        """NONE once no live replica has records below ``offset``."""
        if self.low_watermark >= offset:
            return _REPLICATED
        return self.progress.await_deletion(offset)
