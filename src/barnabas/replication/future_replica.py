"""A copy of a replica's log in another directory of the same broker, on its way to take the
replica's place.

It is fed from the current log, which still leads or follows, until it has everything; then the two
are exchanged in one turn of the loop. Until then it is no replica, and losing it only costs another
copy. Events in between:

- The current log is truncated: so is the copy, and pieces that were read before the truncation are
  not appended.
- The start of the current log moves up: so does the copy's. A copy that ends below the new start
  begins again there.
- The current log is compacted or segments are retired: copied batches stay, and the others are read
  from the log as it is now.
- The node stops, is killed or loses power: the next start finds the copy under its name, and
  truncates the part that the current log does not have, by leader epochs.

The copy has its own producers and epochs, but the current log may know more than its batches
contain: producers whose batches are gone, or the epoch of a leader that has written nothing. So the
exchange hands both over.
"""

from __future__ import annotations

from barnabas.records.batches import CorruptBatch, check_crc, walk
from barnabas.replication.following import truncation_offset
from barnabas.storage.log import Log, OffsetOutOfRange
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.regions import FileRegion


class FutureReplica:
    __slots__ = ("_cleaned_to", "_settled_cuts", "_source", "cuts", "directory", "log")

    def __init__(self, source: Log, log: Log, directory: LogDirectory) -> None:
        """``source`` is the current log, ``directory`` the directory of the copy."""
        self._source = source
        self.log = log
        self.directory = directory
        # of the current log: pieces that were read before a truncation may be invalid
        self.cuts = 0
        self._settled_cuts = -1
        # Batches that were compacted before the first of them was copied are compacted in the copy
        # too. Batches that are compacted during the copy may have been copied before.
        empty = log.log_end_offset == log.log_start_offset
        self._cleaned_to = source.cleaned_to if empty else None

    @property
    def lag(self) -> int:
        """The number of records still to be copied, as far as offsets show."""
        return self._source.log_end_offset - self.log.log_end_offset

    @property
    def complete(self) -> bool:
        return self._settled_cuts == self.cuts and self.log.log_end_offset == self._source.log_end_offset

    def source_was_truncated(self) -> None:
        """Only note the truncation: an error of the copy's disk must not be taken for one of the
        current log's."""
        self.cuts += 1

    def settle(self) -> None:
        """Truncate the part that the current log does not have, and begin where it begins.
        ``OSError`` comes from the copy's directory."""
        source, log = self._source, self.log
        while self._settled_cuts != self.cuts and log.log_end_offset > log.log_start_offset:
            epoch = log.leader_epochs.last_written(log.log_end_offset)
            shared = source.leader_epochs.end_offset_for(epoch, source.log_end_offset)
            if epoch >= 0 and shared.epoch == epoch and shared.start_offset >= log.log_end_offset:
                break
            before = log.log_end_offset
            log.truncate_to(truncation_offset(log, shared) if shared.epoch >= 0 else log.log_start_offset)
            if log.log_end_offset == before:
                log.truncate_fully(source.local_start_offset)
        self._settled_cuts = self.cuts
        first = source.local_start_offset
        if log.log_end_offset < first or (log.log_end_offset == log.log_start_offset and log.log_end_offset != first):
            log.truncate_fully(first)
        elif log.log_start_offset < first:
            log.advance_start(first)

    def next_piece(self, size_bytes_max: int) -> FileRegion | None:
        """The region to read next, which the caller releases; None when there is nothing.
        ``OSError`` comes from the current log's directory."""
        source = self._source
        try:
            read = source.read(self.log.log_end_offset, size_bytes_max=size_bytes_max, end_offset=source.log_end_offset, at_least_one=True)
        except OffsetOutOfRange:
            self.cuts += 1
            return None
        return read.region

    def still_has(self, region: FileRegion) -> bool:
        """Whether the current log has not been compacted or emptied there since."""
        return any(segment.file is region.file for segment in self._source.segments)

    def append(self, data: memoryview, now_ms: int, *, batches_max: int) -> int:
        """Append the first whole batches of a piece that was read. Returns the number of bytes that
        are done. Raises ``CorruptBatch`` when a batch is corrupt."""
        done = 0
        log = self.log
        for position, header in walk(data):
            if batches_max <= 0:
                break
            batch = data[position : position + header.size_bytes]
            check_crc(batch, header)
            if header.base_offset >= log.log_end_offset:
                log.append_as_follower(batch, header, now_ms)
            elif header.last_offset >= log.log_end_offset:
                if log.log_end_offset != log.log_start_offset:
                    raise CorruptBatch(f"batch at offset {header.base_offset} came where {log.log_end_offset} was expected")
                # Records were deleted up to an offset inside this batch, and an empty log begins
                # with the whole batch.
                start = log.log_start_offset
                log.truncate_fully(header.base_offset)
                log.append_as_follower(batch, header, now_ms)
                log.advance_start(start)
            done = position + header.size_bytes
            batches_max -= 1
        return done

    def take_over(self) -> None:
        """Take over the state of the current log that its batches do not contain. Nothing may be
        appended to either log from here on."""
        source, log = self._source, self.log
        assert self.complete
        log.leader_epochs.entries = list(source.leader_epochs.entries)
        log.leader_epochs.write()
        log.take_producers(source.producers)
        log.remote_end_offset = source.remote_end_offset
        if self._cleaned_to is not None and source.cleaned_to is not None:
            log.cleaned_to = min(self._cleaned_to, source.cleaned_to)
        log.log_start_offset = source.log_start_offset
        log.settings = source.settings
        log.snapshot_producers()
