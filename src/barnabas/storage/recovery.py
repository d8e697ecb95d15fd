"""Opening a partition's log, in any state that a crash left its directory in.

Recovery handles these findings:

============================  =====================================================================
``*.deleted``                 an interrupted removal: removed
``*.cleaned``                 an interrupted compaction that had not finished writing: removed
``*.swap``                    a compaction that had finished: the swap is completed, the segments it
                              replaces are removed, its indexes derived again
                              (``storage/compaction/swap.py``)
log without index             the index is derived from the log; so is an index that points to a
                              position where no batch begins
index without log             an interrupted removal: removed
torn, zero-filled or          truncated at the first batch that is incomplete, does not match its
damaged tail                  checksum or goes back in offsets (only behind the recovery point, and
                              only after an unclean stop; see ``docs/non_obvious.md``)
segments behind a truncation  removed: their offsets would leave a hole
segment that ends too early   treated like a truncation: a power cut may take the unflushed end of
                              a file and leave the next file (compaction leaves no such segments;
                              Kafka's does, below ``cleaner-offset-checkpoint``)
log start above the log end   everything is removed: those offsets were assigned once and must not
                              be assigned again
damaged snapshot              the producers are replayed from the log instead
epochs missing or damaged     read from the batches, also when they begin above the log start
============================  =====================================================================

After a clean stop only the end of the active segment is scanned. A node may have tens of thousands
of logs, most of them intact; so a directory is listed once, and again only where recovery changed
it.

A crash may also happen during recovery. So removals are durable before the truncation that caused
them: a repeated recovery must see the same reason again.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from itertools import zip_longest

from barnabas.env.disk import Disk
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_header import BatchHeader
from barnabas.records.batches import CorruptBatch
from barnabas.storage.compaction.interrupted_swaps import finish_interrupted_swaps
from barnabas.storage.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    offset_name,
    parse_segment_file,
)
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.producer_snapshot import list_snapshots, snapshot_path
from barnabas.storage.producer_snapshots import restore
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.segment import Segment
from barnabas.storage.segment_list import SegmentList

_OFFSET_MAX = 2**63 - 1
# Leftovers of a process that died in the middle of an operation.
_INTERRUPTED_SUFFIXES = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX, ".tmp")


@dataclass(slots=True)
class RecoveryReport:
    """The repairs that opening a log made, for the caller to log."""

    segments_recovered: int = 0
    bytes_truncated: int = 0
    segments_removed: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def eventful(self) -> bool:
        return bool(self.bytes_truncated or self.segments_removed or self.notes)


def open_log(
    disk: Disk,
    directory: str,
    partition: TopicPartition,
    settings: LogSettings,
    *,
    clean: bool,
    recovery_point: int,
    log_start_offset: int | None,
    now_ms: int,
    cleaned_to: int = 0,
) -> tuple[Log, RecoveryReport]:
    """Open an existing directory, or a new and empty one. ``clean`` means that the last owner
    stopped cleanly. The log start is the checkpointed one, if any, and the part below
    ``cleaned_to`` was compacted.
    """
    report = RecoveryReport()
    written_start, log_start_offset = log_start_offset, log_start_offset or 0
    names = _finish_interrupted(disk, directory, disk.names(directory), report)
    segments, incomplete = _open_segments(disk, directory, names, settings, now_ms, report)
    epochs = LeaderEpochs.load(disk, directory)
    earliest = epochs.entries[0].start_offset if epochs.entries else _OFFSET_MAX
    unflushed: set[int] = set() if clean else _unflushed(segments, recovery_point)
    doubtful = incomplete | unflushed
    doubtful |= _misled(segments, doubtful, report)
    if clean:
        doubtful |= _faulty(segments, doubtful, report)
    # Compacted segments were flushed, and Kafka's cleaner leaves segments that end before the next
    # begins.
    gapless = set() if settings.rules.keys_required else {base for base in unflushed if base >= cleaned_to}
    segments = _recover(disk, directory, segments, epochs, doubtful=doubtful, gapless=gapless, report=report)
    for segment in segments:
        if segment.base_offset in doubtful:
            segment.load_tail()
    if segments and segments[-1].next_offset < log_start_offset:
        # DeleteRecords moved the start, and then the log lost its tail. The offsets were assigned
        # once and must not be used again.
        report.notes.append(f"removed everything below {log_start_offset}, the log ended at {segments[-1].next_offset}")
        _remove_segments(disk, directory, segments, report)
        segments = []
    # No snapshot of producers exists below this offset.
    snapshots: list[int] | None = None if any(name.endswith(SNAPSHOT_SUFFIX) for name in names) else []
    if not segments:
        _forget(disk, directory, epochs, snapshots)
        first = Segment.create(disk, directory, log_start_offset, index_interval_bytes=settings.index_interval_bytes, created_ms=now_ms)
        segments = [first]
    segment_list = SegmentList(segments)
    active = segment_list.active
    active.activate()
    if doubtful:
        active.hold_place_in_index()
    log_end_offset = active.next_offset
    log_start_offset = max(log_start_offset, segment_list.first.base_offset)
    log = Log(
        disk,
        directory,
        partition,
        settings,
        segments=segment_list,
        leader_epochs=epochs,
        producers=ProducerState(),
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        recovery_point=log_end_offset if clean else min(recovery_point, log_end_offset),
        touched=bool(doubtful),
    )
    if written_start is not None and written_start < log_start_offset:
        # Either old, or the start of a tiered log, which is decided when its settings are known.
        log.may_reach_back_to(written_start)
    if earliest > log_start_offset:
        _read_epochs(segment_list, epochs)
    # An epoch may start at the very end, when its leader has written nothing yet; one that starts
    # above the end was lost with the tail.
    epochs.truncate_end(log_end_offset + 1)
    epochs.truncate_start(log_start_offset if written_start is None else written_start)
    if snapshots is None:
        _remove_stray_snapshots(disk, directory, segment_list)
    log.rebuild_producers(snapshots=snapshots)
    return log, report


def _finish_interrupted(disk: Disk, directory: str, names: list[str], report: RecoveryReport) -> list[str]:
    """Returns the names in the directory afterwards."""
    if not any(name.endswith(_INTERRUPTED_SUFFIXES) for name in names):
        return names
    report.notes += finish_interrupted_swaps(disk, directory)
    doomed = [name for name in disk.names(directory) if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp"))]
    for name in doomed:
        disk.remove(f"{directory}/{name}")
        report.notes.append(f"removed {name}")
    if doomed:
        disk.sync_directory(directory)
    return disk.names(directory)


def _open_segments(
    disk: Disk, directory: str, names: list[str], settings: LogSettings, now_ms: int, report: RecoveryReport
) -> tuple[list[Segment], set[int]]:
    """The segments in order, and the base offsets of those that lack an index."""
    present = {(parsed[0], parsed[1]): name for name in names if (parsed := parse_segment_file(name)) is not None and not parsed[2]}
    bases = sorted(base for base, suffix in present if suffix == LOG_SUFFIX)
    for (base, suffix), name in present.items():
        if suffix in SEGMENT_SUFFIXES and (base, LOG_SUFFIX) not in present:
            disk.remove(f"{directory}/{name}")
            report.notes.append(f"removed {name}, which has no log")
    incomplete = {base for base in bases if (base, INDEX_SUFFIX) not in present or (base, TIME_INDEX_SUFFIX) not in present}
    report.notes += [f"an index of {offset_name(base)} is missing" for base in sorted(incomplete)]
    return [
        Segment(disk, directory, base, index_interval_bytes=settings.index_interval_bytes, created_ms=now_ms) for base in bases
    ], incomplete


def _unflushed(segments: list[Segment], recovery_point: int) -> set[int]:
    """The segments that the recovery point does not cover: all that may reach above it, and always
    the last.
    """
    ends = [following.base_offset for following in segments[1:]]
    return {segment.base_offset for segment, end in zip_longest(segments, ends) if end is None or end > recovery_point}


def _faulty(segments: list[Segment], doubtful: set[int], report: RecoveryReport) -> set[int]:
    """After a clean stop the indexes are trusted unless they are implausible; only the active
    segment's will be appended to.
    """
    if not segments or segments[-1].base_offset in doubtful:
        return set()
    active = segments[-1]
    for file in (active.index.file, active.time_index.file):
        file.trim()
    fault = active.index.fault(active.size_bytes) or active.time_index.fault(active.next_offset) or active.transaction_index.fault()
    if fault is None:
        return set()
    report.notes.append(f"an index of {offset_name(active.base_offset)} is wrong: {fault}")
    return {active.base_offset}


def _misled(segments: list[Segment], doubtful: set[int], report: RecoveryReport) -> set[int]:
    """Load the ends of the trusted segments. An index that points to no batch is wrong, if the log
    itself can be walked.

    Raises ``CorruptBatch`` when it cannot: below the recovery point, flushed data is not truncated
    without an operator's decision.
    """
    misled = set()
    for segment in segments:
        if segment.base_offset in doubtful:
            continue
        try:
            segment.load_tail()
        except CorruptBatch as astray:
            for _ in segment.headers():
                pass
            report.notes.append(f"an index of {offset_name(segment.base_offset)} is wrong: {astray}")
            misled.add(segment.base_offset)
    return misled


def _recover(
    disk: Disk,
    directory: str,
    segments: list[Segment],
    epochs: LeaderEpochs,
    *,
    doubtful: set[int],
    gapless: set[int],
    report: RecoveryReport,
) -> list[Segment]:
    """Scan the suspect segments, given by base offset, and derive their indexes again; returns the
    remaining segments, in order.

    The gapless ones must reach to the next segment.
    """
    kept: list[Segment] = []
    producers = ProducerState()
    for slot, segment in enumerate(segments):
        kept.append(segment)
        if segment.base_offset not in doubtful:
            continue
        behind = segments[slot + 1 :]
        _producers_at(disk, directory, segment.base_offset, kept[:-1], producers)
        before = segment.size_bytes
        for header, batch in segment.rebuild(before_cut=partial(_remove_segments, disk, directory, behind, report)):
            if header.leader_epoch > epochs.latest:
                epochs.assign(header.leader_epoch, header.base_offset)
            _index_abort(segment, producers, header, batch)
        report.segments_recovered += 1
        report.bytes_truncated += before - segment.size_bytes
        if segment.damage is not None:
            report.notes.append(segment.damage)
        if segment.size_bytes < before:
            break
        if behind and segment.base_offset in gapless and segment.next_offset < behind[0].base_offset:
            report.notes.append(f"{segment.file.path} ends at {segment.next_offset}, the next segment begins at {behind[0].base_offset}")
            _remove_segments(disk, directory, behind, report)
            break
        if behind:
            segment.seal_recovered()
            # No later flush and no later recovery covers a segment below the recovery point.
            segment.sync()
    return kept


def _producers_at(disk: Disk, directory: str, offset: int, kept: list[Segment], producers: ProducerState) -> None:
    """The producers when ``offset`` was the end of the log, to find the transactions that a
    segment's markers abort.
    """
    below = [each for each in list_snapshots(disk, directory) if each <= offset]
    start = restore(disk, directory, below, producers, default=0)
    for segment, following in zip_longest(kept, kept[1:]):
        if following is None or following.base_offset > start:
            for position, header in segment.headers():
                if start <= header.base_offset < offset and header.producer_id >= 0:
                    producers.replay(header, segment.read_batch(position, header) if header.control else b"", header.base_offset)


def _index_abort(segment: Segment, producers: ProducerState, header: BatchHeader, batch: memoryview) -> None:
    aborted = producers.replay(header, batch, header.base_offset)
    if aborted is not None:
        segment.transaction_index.append(aborted)


def _remove_segments(disk: Disk, directory: str, segments: list[Segment], report: RecoveryReport) -> None:
    """Remove durably, while the reason is still visible: a recovery after a crash in between
    decides the same.
    """
    for segment in segments:
        segment.abandon()
        for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX):
            disk.remove(f"{directory}/{offset_name(segment.base_offset)}{suffix}")
    disk.sync_directory(directory)
    report.segments_removed += len(segments)


def _forget(disk: Disk, directory: str, epochs: LeaderEpochs, snapshots: list[int] | None) -> None:
    """Without segments, the files about segments are obsolete."""
    for offset in list_snapshots(disk, directory) if snapshots is None else snapshots:
        disk.remove(snapshot_path(directory, offset))
    if epochs.entries:
        epochs.clear()


def _read_epochs(segments: SegmentList, epochs: LeaderEpochs) -> None:
    """Read all epochs from the batches themselves.

    Either the file was missing or damaged, or the log start had moved in the file and a crash undid
    the move.
    """
    remembered, epochs.entries = epochs.entries, []
    for segment in segments:
        for _, header in segment.headers():
            if header.leader_epoch > epochs.latest:
                epochs.assign(header.leader_epoch, header.base_offset)
    for epoch, start_offset in remembered:
        epochs.assign(epoch, start_offset)


def _remove_stray_snapshots(disk: Disk, directory: str, segments: SegmentList) -> None:
    """Snapshots belong to segments; one more, the newest, may lie at the end of the log."""
    bases = {segment.base_offset for segment in segments}
    snapshots = list_snapshots(disk, directory)
    for offset in snapshots[:-1]:
        if offset not in bases:
            disk.remove(snapshot_path(directory, offset))
