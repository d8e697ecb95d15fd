"""The start offset of each leader epoch: ``leader-epoch-checkpoint``.

A returning replica asks the leader for the end offset of its own last epoch, and truncates there;
the high watermark would not do, because it lags (KIP-101). Epochs and start offsets both rise
strictly. The file is written on every change, before any reader can see the first batch of the
epoch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from barnabas.env.disk import Disk, out_of_room, write_atomically
from barnabas.storage.checkpoints import CheckpointDamaged, read_lines
from barnabas.storage.file_names import LEADER_EPOCHS

UNDEFINED_OFFSET = -1
UNDEFINED_EPOCH = -1


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    def __init__(self, disk: Disk, directory: str, entries: list[EpochStart] | None = None, *, on_disk: bool | None = None) -> None:
        """``on_disk`` is whether there is a file, where that is known."""
        self._disk = disk
        self._path = f"{directory}/{LEADER_EPOCHS}"
        self.entries = entries if entries is not None else []
        self.unsaved = False
        self._saved: tuple[EpochStart, ...] = tuple(self.entries)  # the entries in the file
        self._unwritten = False  # a change that could not be saved because the disk was full
        self._on_disk = disk.exists(self._path) if on_disk is None else on_disk

    @classmethod
    def load(cls, disk: Disk, directory: str) -> LeaderEpochs:
        """A damaged or missing file counts as empty: recovery then reads the epochs from the
        batches.
        """
        try:
            lines = read_lines(disk, f"{directory}/{LEADER_EPOCHS}")
            entries = [EpochStart(int(epoch), int(start)) for epoch, start in (line.split() for line in lines)]
        except FileNotFoundError:
            return cls(disk, directory, on_disk=False)
        except (CheckpointDamaged, ValueError):
            return cls(disk, directory, on_disk=True)
        epochs = cls(disk, directory, on_disk=True)
        for entry in entries:
            epochs._insert(entry)
        epochs._saved = tuple(entries)
        return epochs

    @property
    def latest(self) -> int:
        entries = self.entries
        return entries[-1][0] if entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """From ``start_offset`` on, batches have ``epoch``. A known epoch changes nothing.

        Only in memory: when a node starts, thousands of partitions get a leader at once, and most
        receive no records for a while. An append saves first.
        """
        if epoch > self.latest:
            self._insert(EpochStart(epoch, start_offset))
            self.unsaved = True

    def save(self) -> None:
        """The first file of a log need not be durable: when it is lost, recovery reads the epochs
        from the batches. But an older version must never replace a newer one.
        """
        if self._on_disk:
            self._write()
            return
        file = self._disk.open(self._path)
        try:
            file.write_at(0, self.text().encode())
        except OSError:
            # A truncated list may look like a complete one.
            with suppress(OSError):
                file.truncate(0)
            raise
        finally:
            file.close()
        self._on_disk, self.unsaved, self._saved = True, False, tuple(self.entries)

    def save_at_close(self, log_end_offset: int) -> None:
        """Save, unless the file only lacks a leader that wrote nothing. A crash loses that epoch as
        well, and the next leader begins at the same offset. Otherwise a stopping node would pay two
        syncs for each of thousands of partitions that it led without a record.
        """
        if self.unsaved and (self._unwritten or _with_batches(self.entries, log_end_offset) != _with_batches(self._saved, log_end_offset)):
            self.save()

    def _insert(self, entry: EpochStart) -> None:
        # An epoch without records disappears when the next one starts at the same offset.
        while self.entries and (self.entries[-1].epoch >= entry.epoch or self.entries[-1].start_offset >= entry.start_offset):
            self.entries.pop()
        self.entries.append(entry)

    def epoch_at(self, offset: int) -> int:
        """The epoch of the batch that holds ``offset``."""
        slot = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset) - 1
        return self.entries[slot].epoch if slot >= 0 else UNDEFINED_EPOCH

    def last_written(self, log_end_offset: int) -> int:
        """The epoch of the last batch. A leader that has written nothing yet has an entry behind
        it.
        """
        entries = self.entries
        if entries and entries[-1][1] < log_end_offset:
            return entries[-1][0]
        return entries[-2][0] if len(entries) > 1 else UNDEFINED_EPOCH

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochStart:
        """The largest known epoch at or below ``epoch``, and its end offset; (-1, -1) when that is
        unknown.
        """
        if epoch == UNDEFINED_EPOCH or not self.entries:
            return EpochStart(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == self.latest:
            return EpochStart(epoch, log_end_offset)
        higher = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        if higher == len(self.entries):
            # The requested epoch is newer than any in this log, so its end is unknown.
            return EpochStart(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if higher == 0:
            # The requested epoch is older than all known ones: it ended where the first known one
            # begins.
            return EpochStart(epoch, self.entries[0].start_offset)
        return EpochStart(self.entries[higher - 1].epoch, self.entries[higher].start_offset)

    def truncate_end(self, offset: int) -> None:
        """Drop epochs that begin at or above ``offset``."""
        kept = [entry for entry in self.entries if entry.start_offset < offset]
        if len(kept) < len(self.entries):
            self.entries = kept
            self.write()

    def truncate_start(self, offset: int) -> None:
        """Drop epochs below ``offset``; the epoch that spans it now starts there."""
        epoch = self.epoch_at(offset)
        kept = [entry for entry in self.entries if entry.start_offset > offset]
        if epoch != UNDEFINED_EPOCH:
            kept.insert(0, EpochStart(epoch, max(offset, 0)))
        if kept != self.entries:
            self.entries = kept
            self.write()

    def clear(self) -> None:
        self.entries = []
        self.write()

    def write(self) -> None:
        """On a full disk the write is postponed: an append saves first, and until then recovery
        truncates an old list to the end of the log.
        """
        self.unsaved = self._unwritten = True
        try:
            self._write()
        except OSError as error:
            if not out_of_room(error):
                raise

    def _write(self) -> None:
        write_atomically(self._disk, self._path, self.text().encode())
        self._on_disk, self.unsaved, self._unwritten, self._saved = True, False, False, tuple(self.entries)

    def text(self) -> str:
        return f"0\n{len(self.entries)}\n" + "".join(f"{epoch} {start}\n" for epoch, start in self.entries)

    def moved_to(self, directory: str) -> None:
        self._path = f"{directory}/{LEADER_EPOCHS}"


def _with_batches(entries: Sequence[EpochStart], log_end_offset: int) -> list[EpochStart]:
    return [entry for entry in entries if entry.start_offset < log_end_offset]
