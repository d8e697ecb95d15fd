"""Which remote segments expire, and where the log begins then.

Sizes are counted as Kafka counts them: the size of a log is its finished remote segments, each
once, plus the part that is only local. Segments expire oldest first, along the log's leader epochs,
up to the first one within all limits. Besides retention, these segments are deleted:

- segments below the log start offset, which DeleteRecords moved;
- segments of leader epochs older than any that the log remembers: they belong to a history that
  ended;
- segments whose deletion began and did not finish, whichever broker began it;
- abandoned copies, whose leader died or gave up: the next copy has another name, so no broker would
  ever finish this one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum

from barnabas.model.dataclass import dataclass
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.chain import is_within, written
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentId, RemoteSegmentMetadata
from barnabas.tiered.metadata.segment_state import SegmentState

# A leader that was replaced may still be uploading, and objects that arrive after their deletion
# would stay for ever. No upload of one segment takes an hour.
ABANDONED_COPY_MS = 3_600_000
NO_LIMIT = -1


class ExpiryReason(StrEnum):
    RETENTION_TIME = "retention.ms"
    RETENTION_SIZE = "retention.bytes"
    LOG_START = "below the log start offset"
    OLD_EPOCHS = "of leader epochs the log has forgotten"
    DELETION_BEGUN = "its deletion began earlier"
    ABANDONED = "its copy was given up"


@dataclass(frozen=True, slots=True)
class Expiring:
    segment: RemoteSegmentMetadata
    reason: ExpiryReason


@dataclass(frozen=True, slots=True)
class ExpiryPlan:
    """The log start offset moves first, durably, and then segments are deleted. In the other order
    the log would promise readers records that are gone."""

    expiring: tuple[Expiring, ...] = ()
    log_start_offset: int | None = None
    """Where the log begins after retention; None when it does not move."""


def plan_expiry(
    catalogue: RemoteCatalogue,
    leader_epochs: Sequence[EpochStart],
    *,
    log_start_offset: int,
    log_end_offset: int,
    local_only_bytes: int,
    retention_ms: int,
    retention_bytes: int,
    now_ms: int,
    being_copied: Collection[RemoteSegmentId] = (),
) -> ExpiryPlan:
    """``local_only_bytes`` is the size of the local segments that are not remote yet. A limit of -1
    means no limit."""
    epochs = written(leader_epochs)
    chosen: dict[RemoteSegmentId, Expiring] = {}

    def choose(segment: RemoteSegmentMetadata, reason: ExpiryReason) -> None:
        chosen.setdefault(segment.id, Expiring(segment, reason))

    for segment in catalogue.segments():
        if segment.state is SegmentState.DELETE_SEGMENT_STARTED:
            choose(segment, ExpiryReason.DELETION_BEGUN)
        elif (
            segment.state is SegmentState.COPY_SEGMENT_STARTED
            and segment.id not in being_copied
            and now_ms - segment.event_timestamp >= ABANDONED_COPY_MS
        ):
            choose(segment, ExpiryReason.ABANDONED)
    if not epochs:
        return ExpiryPlan(tuple(chosen.values()))

    new_start = _by_retention(
        catalogue,
        epochs,
        choose,
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        excess_bytes=_excess(catalogue, epochs, log_end_offset, local_only_bytes, retention_bytes),
        expired_before_ms=now_ms - retention_ms if retention_ms > NO_LIMIT else None,
        being_copied=being_copied,
    )
    oldest = leader_epochs[0]
    # A log that does not remember its own beginning cannot tell which segments belong to another
    # history.
    knows_its_past = oldest.start_offset <= log_start_offset
    for segment in catalogue.segments() if knows_its_past else ():
        if segment.id not in being_copied and all(entry.epoch < oldest.epoch for entry in segment.leader_epochs):
            choose(segment, ExpiryReason.OLD_EPOCHS)
    return ExpiryPlan(tuple(chosen.values()), new_start)


def _by_retention(
    catalogue: RemoteCatalogue,
    epochs: Sequence[EpochStart],
    choose: Callable[[RemoteSegmentMetadata, ExpiryReason], None],
    *,
    log_start_offset: int,
    log_end_offset: int,
    excess_bytes: int,
    expired_before_ms: int | None,
    being_copied: Collection[RemoteSegmentId],
) -> int | None:
    """Choose segments from the oldest on, up to the first one that is within the limits. Returns
    where the log begins then."""
    new_start: int | None = None
    seen: set[RemoteSegmentId] = set()
    for epoch in epochs:
        for segment in catalogue.segments_of(epoch.epoch):
            if segment.id in seen or segment.state >= SegmentState.DELETE_SEGMENT_STARTED:
                continue
            seen.add(segment.id)
            if segment.id in being_copied:
                # The oldest segments are remote long before the newest. The segments behind this
                # one are newer than one that is just being copied.
                return new_start
            if segment.end_offset < log_start_offset and all(entry.epoch <= epochs[0].epoch for entry in segment.leader_epochs):
                choose(segment, ExpiryReason.LOG_START)
                continue
            if segment.state is not SegmentState.COPY_SEGMENT_FINISHED or not is_within(segment, epochs, log_end_offset):
                continue
            if expired_before_ms is not None and segment.max_timestamp < expired_before_ms:
                choose(segment, ExpiryReason.RETENTION_TIME)
            elif excess_bytes > 0 and excess_bytes >= segment.size_bytes:
                choose(segment, ExpiryReason.RETENTION_SIZE)
            else:
                return new_start
            excess_bytes -= segment.size_bytes
            new_start = max(new_start or 0, segment.end_offset + 1)
    return new_start


def _excess(
    catalogue: RemoteCatalogue, epochs: Sequence[EpochStart], log_end_offset: int, local_only_bytes: int, retention_bytes: int
) -> int:
    """By how many bytes the log exceeds its limit; zero or less when it does not."""
    if retention_bytes <= NO_LIMIT:
        return 0
    return local_only_bytes + remote_size_bytes(catalogue, epochs, log_end_offset) - retention_bytes


def remote_size_bytes(catalogue: RemoteCatalogue, leader_epochs: Sequence[EpochStart], log_end_offset: int) -> int:
    """The size of the finished segments that belong to the log."""
    return sum(
        segment.size_bytes
        for segment in catalogue.segments()
        if segment.state is SegmentState.COPY_SEGMENT_FINISHED and is_within(segment, leader_epochs, log_end_offset)
    )
