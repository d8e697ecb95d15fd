"""The log of one partition: append, read, find by time, truncate.

Offsets in order::

    log start <= local start <= high watermark (kept by the partition) <= log end
    recovery point <= log end       everything below it is known to be on the disk

The first two differ only where older segments lie in remote storage.

Everything here runs on one thread. Appends go to the page cache; :attr:`Log.flushing` lets a worker
thread wait for the disk. An ``OSError`` from any method means that the directory can no longer be
trusted, and its owner takes it offline; except where the disk is full
(:func:`~barnabas.env.disk.out_of_room`): then the log is as it was before, and may be appended to
once there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from errno import EIO
from typing import NamedTuple

from barnabas.env.disk import Disk
from barnabas.model.buffers import Buffer
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_header import BatchHeader, assign_offset
from barnabas.records.batches import walk
from barnabas.records.validation import Accepted, Refused
from barnabas.storage.append_plan import RollReason, indexes_have_room, roll_reason
from barnabas.storage.file_names import DELETED_SUFFIX, SEGMENT_SUFFIXES, offset_name
from barnabas.storage.finding_by_time import TimestampOffset, first_at_or_after, first_of_largest
from barnabas.storage.flushing import Flushing
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.producer_snapshots import ProducerSnapshots
from barnabas.storage.producer_state import ProducerState, SentBatch
from barnabas.storage.regions import FileRegion
from barnabas.storage.removal import Removal, mark_deleted
from barnabas.storage.segment import RELATIVE_OFFSET_MAX, Location, Segment
from barnabas.storage.segment_list import SegmentList
from barnabas.storage.transaction_index import AbortedTransaction

# A reader's next offset is nearly always where an earlier read ended, so those ends need no search.
REMEMBERED_READ_ENDS = 64
# Batches that are written together are copied together first, which pays for small ones only.
WRITTEN_TOGETHER_BYTES_MAX = 64 * 1024
# How much is read at once to open batches: much in one call, little in memory.
BATCHES_READ_BYTES = 1024 * 1024


class Appended(NamedTuple):
    base_offset: int
    last_offset: int
    append_time_ms: int
    duplicate: bool = False


class Read(NamedTuple):
    """The batches for a fetch, still on disk, and whether the first one alone is larger than the
    fetch asked for."""

    region: FileRegion | None
    oversized: bool = False


class OffsetOutOfRange(ValueError):
    pass


class OffsetIsRemote(OffsetOutOfRange):
    """The offset is in remote storage: a tiered log reaches back further than its local
    segments."""


class Log:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        partition: TopicPartition,
        settings: LogSettings,
        *,
        segments: SegmentList,
        leader_epochs: LeaderEpochs,
        producers: ProducerState,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        touched: bool = True,
    ) -> None:
        """``touched`` says that the files may hold unsynced bytes; without it a clean shutdown has
        nothing to sync."""
        self.disk = disk
        self.directory = directory
        self.partition = partition
        self.settings = settings
        self.segments = segments
        self.leader_epochs = leader_epochs
        self.producers = producers
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.flushing = Flushing(segments, recovery_point=recovery_point, log_end_offset=log_end_offset)
        self._producer_snapshots = ProducerSnapshots(disk, directory, empty_up_to=log_start_offset)
        # Everything below was compacted; None before the first compaction. The cleaner moves it,
        # truncation takes it back.
        self.cleaned_to: int | None = None
        # How often the log was truncated: a cleaner that works on segments elsewhere sees that they
        # may have changed.
        self.truncations = 0
        # Everything below is in remote storage too; -1 without a copy. The copying leader moves it.
        self.remote_end_offset = -1
        # The start of the log, if its settings turn out to make it a tiered one.
        self._remote_start_offset: int | None = None
        self._read_ends: dict[int, tuple[Segment, int]] = {}
        # Called after a roll: the sealed segment should be flushed in the background.
        self.on_roll: Callable[[Log], None] | None = None
        self._touched = touched

    def configure(self, settings: LogSettings) -> None:
        """Take the topic's own settings. A log is opened before they are known, and they decide
        where it begins."""
        self.settings = settings
        if settings.remote_enabled:
            if self._remote_start_offset is not None:
                self.log_start_offset = min(self.log_start_offset, self._remote_start_offset)
        else:
            self.leader_epochs.truncate_start(self.log_start_offset)
            self.advance_start(self.segments.first.base_offset)
        self._remote_start_offset = None

    def may_reach_back_to(self, offset: int) -> None:
        """A checkpoint says that the log begins here, below its first local segment."""
        self._remote_start_offset = offset

    @property
    def local_start_offset(self) -> int:
        return max(self.log_start_offset, self.segments.first.base_offset)

    # -- appending

    def append(
        self,
        batch: memoryview,
        header: BatchHeader,
        leader_epoch: int,
        now_ms: int,
        append_time_ms: int = -1,
        *,
        from_client: bool = True,
    ) -> Appended | Refused:
        """The case of :meth:`append_batches` with one batch."""
        return self.append_batches((Accepted(batch, header, append_time_ms),), leader_epoch, now_ms, from_client=from_client)[0]

    def append_batches(
        self, batches: Sequence[Accepted], leader_epoch: int, now_ms: int, *, from_client: bool = True
    ) -> Sequence[Appended | Refused]:
        """Give validated batches their offsets, patch them in place and write them with one call;
        their headers still say offset 0. The outcomes of the first batches, at least of one: the
        caller comes again with the rest. ``OSError`` means that none of these batches was written.

        A second batch of one producer waits for the next call, because its sequence number is
        checked against the first. A refusal or a duplicate comes alone, and so does the batch that
        begins a segment.

        Markers, and offsets that a coordinator writes in a producer's name, are not
        ``from_client``: they have no sequence numbers.
        """
        settings = self.settings
        outcomes: list[Appended] = []
        written: list[tuple[memoryview, int, int]] = []
        producers: tuple[int, ...] = ()
        base_offset = end_offset = self.log_end_offset
        size = 0
        max_timestamp = -1
        for batch, header, append_time_ms in batches:
            length = len(batch)
            if outcomes and size + length > WRITTEN_TOGETHER_BYTES_MAX:
                break
            if length > settings.segment_bytes:
                if outcomes:
                    break
                return [_too_large(length, settings.segment_bytes)]
            producer_id = header.producer_id
            if producer_id >= 0:
                if producer_id in producers:
                    break
                known = self.producers.check(header) if from_client and not header.control else None
                if known is not None:
                    if outcomes:
                        break
                    return [_duplicate(known, append_time_ms) if isinstance(known, SentBatch) else known]
                producers = (*producers, producer_id)
            timestamp = header.max_timestamp
            if timestamp > max_timestamp:
                max_timestamp = timestamp
            size += length
            last_offset = end_offset + header.last_offset_delta
            assign_offset(batch, end_offset, leader_epoch)
            written.append((batch, last_offset, timestamp))
            # As Appended(...), at half the price.
            outcomes.append(tuple.__new__(Appended, (end_offset, last_offset, append_time_ms, False)))
            end_offset = last_offset + 1
        count = len(outcomes)
        try:
            active = self.segments.active
            rolls = roll_reason(active, settings, size, end_offset - 1, max_timestamp, now_ms) is not None
            if count > 1 and (rolls or not indexes_have_room(active, settings, count, size)):
                _take_back_offsets(batches[:count])
                return self.append_batches(batches[:1], leader_epoch, now_ms, from_client=from_client)
            if rolls:
                active = self.roll(now_ms=now_ms)
            self._begin_epoch(leader_epoch, base_offset)
            if not self._touched:
                self._touch(active)
            active.append_batches(written)
        except OSError:
            _take_back_offsets(batches[:count])
            raise
        self.log_end_offset = end_offset
        if producers:
            for (batch, header, _), outcome in zip(batches, outcomes, strict=False):
                if header.producer_id >= 0:
                    self._follow_producer(header, batch, outcome.base_offset)
        flushing = self.flushing
        flushing.unflushed_records += end_offset - base_offset
        if flushing.unflushed_records >= settings.flush_messages:
            self.flush()
        return outcomes

    def _begin_epoch(self, leader_epoch: int, base_offset: int) -> None:
        """Save the epoch before its first batch, so that no reader sees a batch whose epoch a crash
        forgets."""
        leader_epochs = self.leader_epochs
        if leader_epoch > leader_epochs.latest:
            leader_epochs.assign(leader_epoch, base_offset)
        if leader_epochs.unsaved:
            leader_epochs.save()

    def append_as_follower(self, batch: Buffer, header: BatchHeader, now_ms: int) -> None:
        """Write a batch that a leader has given its offset, as it is. It must be whole, and begin
        at or above the log end offset: where the leader's log was compacted there are gaps, and the
        follower's has the same.

        No size is too large here: the leader took it, under settings that may have been others.
        """
        base_offset, last_offset = header.base_offset, header.last_offset
        assert base_offset >= self.log_end_offset, f"offset {base_offset} is below the log's end {self.log_end_offset}"
        settings, size = self.settings, len(batch)
        active = self.segments.active
        reason = roll_reason(active, settings, size, last_offset, header.max_timestamp, now_ms)
        if reason is not None and (active.size_bytes or reason is RollReason.OFFSETS):
            # Begin at the end of the old segment wherever indexes reach that far: recovery takes a
            # gap between segments for lost records.
            too_far = last_offset - self.log_end_offset > RELATIVE_OFFSET_MAX
            active = self.roll(now_ms=now_ms, base_offset=base_offset if too_far else None)
        self._begin_epoch(header.leader_epoch, base_offset)
        if not self._touched:
            self._touch(active)
        active.append(batch, last_offset, header.max_timestamp)
        self.log_end_offset = last_offset + 1
        if header.producer_id >= 0:
            self._follow_producer(header, batch, base_offset)
        self.flushing.unflushed_records += header.record_count
        if self.flushing.unflushed_records >= settings.flush_messages:
            self.flush()

    def _follow_producer(self, header: BatchHeader, batch: Buffer, base_offset: int) -> None:
        aborted = self.producers.replay(header, batch, base_offset)
        if aborted is not None:
            self.segments.active.transaction_index.append(aborted)

    def roll(self, *, now_ms: int, base_offset: int | None = None) -> Segment:
        """Close the active segment and start the next at the log end offset, or above it where the
        next batch leaves a gap. The caller may rely on nothing being flushed."""
        sealed = self.segments.active
        sealed.seal()
        if self.recovery_point >= self.log_end_offset:
            # Nothing is left to flush, so no flush would sync the entries that sealing wrote, and
            # recovery would believe them unseen.
            sealed.sync()
        else:
            # A flush that began before the seal does not cover the whole segment.
            self.flushing.sealed(self.log_end_offset)
        # Producers as of the new segment's start, so that opening the log needs to replay only this
        # segment.
        self.snapshot_producers()
        try:
            segment = Segment.create(
                self.disk,
                self.directory,
                self.log_end_offset if base_offset is None else base_offset,
                index_interval_bytes=self.settings.index_interval_bytes,
                created_ms=now_ms,
            )
        except OSError:
            sealed.activate()
            raise
        self.segments.add(segment)
        if self.on_roll is not None:
            self.on_roll(self)
        return segment

    # -- reading

    def read(self, offset: int, *, size_bytes_max: int, end_offset: int, at_least_one: bool) -> Read:
        """Batches from the one that holds ``offset``, up to but not including ``end_offset``, of
        one segment, as a file region.

        The region may end inside a batch, as Kafka's do; readers drop the rest.
        ``OffsetOutOfRange`` outside of [log start offset, log end offset].
        """
        if offset >= end_offset or offset >= self.log_end_offset:
            if not self.log_start_offset <= offset <= self.log_end_offset:
                raise OffsetOutOfRange(f"{offset} is not in {self.log_start_offset} to {self.log_end_offset}")
            return Read(None)
        if offset < self.log_start_offset:
            raise OffsetOutOfRange(f"{offset} is below the log's start {self.log_start_offset}")
        if offset < self.segments.first.base_offset:
            raise OffsetIsRemote(f"{offset} is below the first local segment {self.segments.first.base_offset}")
        found = self._position_of(offset)
        if found is None:
            return Read(None)
        segment, position, first_bytes = found
        stop = self._stop_position(segment, end_offset)
        available = stop - position
        if available <= 0:
            return Read(None)
        size = min(available, size_bytes_max)
        oversized = False
        if size < available:
            if first_bytes is None:
                first_bytes = next(segment.steps(position)).size_bytes
            if size < first_bytes:
                if not at_least_one:
                    return Read(None, oversized=True)
                size, oversized = min(available, first_bytes), True
        if position + size == self.segments.active.size_bytes and segment is self.segments.active:
            self._remember_end(segment)
        return Read(FileRegion(segment.file, position, size), oversized)

    def _position_of(self, offset: int) -> tuple[Segment, int, int | None] | None:
        """The segment and position of the batch that holds ``offset``, or the next behind a gap,
        and its size where it is known."""
        remembered = self._read_ends.get(offset)
        if remembered is not None:
            segment, position = remembered
            if position < segment.size_bytes:
                return segment, position, None
        # Compaction may have emptied the end of a segment; the next batch is then in a later one.
        for segment in self.segments.starting_with(offset):
            location = segment.locate(offset)
            if location is not None:
                return segment, location.position, location.size_bytes
        return None

    def _stop_position(self, segment: Segment, end_offset: int) -> int:
        if end_offset >= segment.next_offset:
            return segment.size_bytes
        location = segment.locate(end_offset)
        return location.position if location is not None else segment.size_bytes

    def _remember_end(self, segment: Segment) -> None:
        ends = self._read_ends
        if len(ends) >= REMEMBERED_READ_ENDS and self.log_end_offset not in ends:
            del ends[next(iter(ends))]
        ends[self.log_end_offset] = (segment, segment.size_bytes)

    def batches(self, start_offset: int, end_offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Whole batches from the one that holds ``start_offset`` on, up to ``end_offset``, read
        into memory a piece at a time."""
        while start_offset < end_offset:
            read = self.read(start_offset, size_bytes_max=BATCHES_READ_BYTES, end_offset=end_offset, at_least_one=True)
            if read.region is None:
                return
            data = memoryview(read.region.read())
            read.region.release()
            for position, header in walk(data):
                yield header, data[position : position + header.size_bytes]
                start_offset = header.last_offset + 1

    def locate(self, offset: int) -> Location | None:
        return self.segments.holding(offset).locate(offset)

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Aborted transactions with records in ``[start_offset, end_offset)``."""
        found: list[AbortedTransaction] = []
        for segment in self.segments.starting_with(start_offset):
            some, complete = segment.transaction_index.collect(start_offset, end_offset)
            found += some
            if complete:
                break
        return found

    def end_of_region(self, region: FileRegion, start_offset: int) -> int:
        """An offset at or above everything in ``region``: aborted transactions from there on do not
        concern its reader."""
        # This is not always the segment that would hold the offset: behind a gap the read continues
        # in a later one.
        segment = next((each for each in self.segments.starting_with(start_offset) if each.file is region.file), None)
        if segment is None:
            return self.log_end_offset
        limit = region.position + len(region)
        if limit >= segment.size_bytes:
            return segment.next_offset
        for location in segment.steps(region.position):
            if location.position + location.size_bytes >= limit:
                return location.last_offset + 1
        return segment.next_offset

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is at or after ``timestamp``."""
        return first_at_or_after(self.segments, timestamp, start_offset=self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        return first_of_largest(self.segments)

    # -- truncating

    def truncate_to(self, offset: int) -> None:
        """Remove everything at and above ``offset``, which becomes the log end offset. A batch that
        spans it goes as a whole. If the last batch that remains ends before ``offset``, the log
        ends there too.

        Durable on return. The owner writes the lower recovery point down before it appends again:
        until then a crash would find the old one and take what is appended for flushed.
        """
        if offset >= self.log_end_offset:
            # A leader that never wrote in its epoch leaves an entry at the very end, which the next
            # leader may contradict.
            self.leader_epochs.truncate_end(self.log_end_offset)
            return
        self.truncations += 1
        self._read_ends.clear()
        if offset <= self.segments.first.base_offset:
            start = self.log_start_offset if self.settings.remote_enabled else offset
            self.truncate_fully(offset)
            self.log_start_offset = min(start, offset)
            return
        for segment in reversed(list(self.segments)):
            if segment.base_offset >= offset and len(self.segments) > 1:
                self._discard(segment)
        cut = self.segments.active.locate(offset)
        if cut is not None:
            offset = min(offset, cut.base_offset)
        self.segments.active.truncate_to(offset)
        # A batch whose offset is corrupt leaves a hole in front of it. A log that ended behind the
        # hole would claim the lost batches.
        offset = min(offset, self.segments.active.next_offset)
        self.log_end_offset = offset
        self.flushing.truncated(offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        if self.cleaned_to is not None:
            self.cleaned_to = min(self.cleaned_to, offset)
        self.leader_epochs.truncate_end(offset)
        self.rebuild_producers()

    def truncate_fully(self, offset: int) -> None:
        """Start again at ``offset``, empty. Durable on return."""
        self._touched = True
        self.truncations += 1
        self._read_ends.clear()
        for segment in reversed(list(self.segments)):
            self._remove_files(segment)
        interval_bytes = self.settings.index_interval_bytes
        try:
            fresh = Segment.create(self.disk, self.directory, offset, index_interval_bytes=interval_bytes, created_ms=0)
        except OSError as error:
            # There is no room although everything was removed. A log needs a segment, so this is
            # not the error of a full disk.
            raise OSError(EIO, f"no new segment can be made: {error}", self.directory) from error
        self.disk.sync_directory(self.directory)
        self.segments.replace_all(fresh)
        self.log_start_offset = self.log_end_offset = offset
        self.flushing.restarted(offset)
        self.cleaned_to = None
        self.leader_epochs.clear()
        self._producer_snapshots.drop(keep_below=0)
        self.producers.clear()

    def advance_start(self, offset: int) -> None:
        """Records below ``offset`` may no longer be read; retention removes segments that lie
        wholly below."""
        assert offset <= self.log_end_offset
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.leader_epochs.truncate_start(offset)

    def retire(self, count: int, *, now_ms: int) -> Removal:
        """Give up the ``count`` oldest segments, whose records this disk no longer keeps; when the
        active one is among them, a new one takes its place. Their end is known to be flushed, so
        recovery looks for no records in the hole that a crash leaves."""
        doomed = list(self.segments)[:count]
        if doomed and doomed[-1] is self.segments.active:
            self.roll(now_ms=now_ms)
        for segment in doomed:
            self.segments.remove(segment)
        self._read_ends.clear()
        if not self.settings.moves_to_remote:
            self.advance_start(self.segments.first.base_offset)
        return mark_deleted(self.disk, self.directory, doomed)

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> None:
        """A compacted segment takes the place of those that it was made of."""
        self.segments.replace(old, new)
        self._read_ends.clear()

    def drop_segments_below(self, offset: int) -> int:
        """Remove the segments that end at or below ``offset``, never the active one; how many bytes
        that frees."""
        freed = 0
        for segment in list(self.segments):
            if segment is self.segments.active or segment.next_offset > offset:
                break
            freed += segment.size_bytes
            self._discard(segment)
        self.advance_start(max(self.log_start_offset, self.segments.first.base_offset))
        return freed

    def _discard(self, segment: Segment) -> None:
        self.segments.remove(segment)
        self._remove_files(segment)

    def _remove_files(self, segment: Segment) -> None:
        """Remove the files for good. Callers go from the last segment to the first, so that a power
        cut leaves no hole."""
        segment.discarded = True
        segment.abandon()
        for suffix in SEGMENT_SUFFIXES:
            path = f"{self.directory}/{offset_name(segment.base_offset)}{suffix}"
            if self.disk.exists(path):
                # Two steps, so that a crash between removing the log and removing its indexes
                # leaves no segment behind.
                self.disk.rename(path, path + DELETED_SUFFIX)
                self.disk.remove(path + DELETED_SUFFIX)
        self.disk.sync_directory(self.directory)

    # -- producers

    def snapshot_producers(self) -> None:
        """Write the producers as of the log end offset, unless that snapshot exists."""
        self._producer_snapshots.write(self.log_end_offset, self.producers)

    def take_producers(self, producers: ProducerState) -> None:
        """Take the state of a log with the same end, which may hold more than the batches of this
        one say."""
        self.producers = producers
        self._producer_snapshots.forget_written()

    def rebuild_producers(self, *, snapshots: Sequence[int] | None = None) -> None:
        """The producers as of the log end offset. ``snapshots`` are the offsets of those on the
        disk, if they are known."""
        self._producer_snapshots.rebuild(
            self.producers, self.segments, start=self.log_start_offset, end=self.log_end_offset, found=snapshots
        )

    # -- the disk

    @property
    def recovery_point(self) -> int:
        return self.flushing.recovery_point

    def flush(self) -> None:
        """Wait for the disk here and now."""
        self.flushing.flush(self.log_end_offset)

    def _touch(self, active: Segment) -> None:
        """The first append since the log was opened. Opening an idle log opens none of its indexes,
        so the placeholder comes only now."""
        self._touched = True
        active.hold_place_in_index()

    def close(self) -> None:
        """A clean shutdown: everything durable, producers in a snapshot, indexes complete."""
        if self._touched:
            active = self.segments.active
            active.time_index.maybe_append(active.max_timestamp, active.offset_of_max_timestamp)
            active.write_out()
            active.index.file.remove_placeholder()
            self.flush()
            # Sync the entry above, when the log was flushed already and the active segment had
            # nothing to flush.
            active.sync()
            self.snapshot_producers()
        self.leader_epochs.save_at_close(self.log_end_offset)
        self.abandon()

    def moved_to(self, directory: str) -> None:
        """The directory was renamed."""
        self.directory = directory
        self.leader_epochs.moved_to(directory)
        self._producer_snapshots.moved_to(directory)
        for segment in self.segments:
            segment.moved_to(directory)

    def abandon(self) -> None:
        """Give the descriptors back and write nothing, as after a crash or when the directory
        failed."""
        for segment in self.segments:
            segment.abandon()

    def size_bytes(self) -> int:
        return self.segments.size_bytes()


def _take_back_offsets(batches: Sequence[Accepted]) -> None:
    """A caller may try the batches again, and expects them as their producers sent them."""
    for batch, header, _ in batches:
        assign_offset(batch, header.base_offset, header.leader_epoch)


def _too_large(size_bytes: int, segment_bytes: int) -> Refused:
    return Refused(ErrorCode.RECORD_LIST_TOO_LARGE, f"a batch of {size_bytes} bytes does not fit into segments of {segment_bytes}")


def _duplicate(first: SentBatch, append_time_ms: int) -> Appended:
    """The outcome of a batch that the log has already: that of the first time."""
    return Appended(first.base_offset, first.last_offset, first.timestamp if append_time_ms >= 0 else -1, duplicate=True)
