"""The control records of the log, which describe the quorum itself: its voters and its
kraft.version, by offset.

A voter set counts from the moment it is written, committed or not: a majority is a majority of the
newest set in the log. When the log is truncated, the set before applies again. So the history is
kept, as far back as the log reaches.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.model.buffers import Buffer
from barnabas.model.dataclass import dataclass
from barnabas.quorum.core.voters import DYNAMIC_KRAFT_VERSION, VoterSet, read_voters_record, voters_record
from barnabas.records.batch_header import BatchHeader
from barnabas.records.control_batch import ControlType, read_control_type
from barnabas.records.record import open_batch
from barnabas.wire.compiler import decode, encode
from barnabas.wire.embedded.control_records import KRaftVersionRecord, VotersRecord

KRAFT_VERSION_RECORD_VERSION = 0
# The offset of a voter set that is in no record of the log, because it came from the checkpoint
# with which the node was formatted.
BOOTSTRAP_OFFSET = -1


@dataclass(frozen=True, slots=True)
class KRaftVersionAt:
    offset: int
    version: int


@dataclass(frozen=True, slots=True)
class VotersAt:
    offset: int
    voters: VoterSet


ControlChange = KRaftVersionAt | VotersAt


class ControlHistory:
    def __init__(self, configured: VoterSet) -> None:
        self.configured = configured
        self._changes: list[ControlChange] = []

    def add(self, changes: Iterable[ControlChange]) -> None:
        for change in changes:
            assert not self._changes or change.offset >= self._changes[-1].offset, "the log grows at its end"
            self._changes.append(change)

    def truncate_end(self, offset: int) -> None:
        self._changes = [change for change in self._changes if change.offset < offset]

    def reset(self, changes: Iterable[ControlChange]) -> None:
        self._changes = []
        self.add(changes)

    def at(self, offset: int) -> tuple[int, VotersAt | None]:
        """The kraft.version and the voters in the log as of ``offset``, inclusive."""
        version, voters = 0, None
        for change in self._changes:
            if change.offset > offset:
                break
            if isinstance(change, VotersAt):
                voters = change
            else:
                version = change.version
        return version, voters

    @property
    def latest(self) -> VotersAt | None:
        return next((change for change in reversed(self._changes) if isinstance(change, VotersAt)), None)

    @property
    def previous_voters(self) -> VoterSet:
        """The voter set before the latest one."""
        sets = [change.voters for change in self._changes if isinstance(change, VotersAt)]
        return sets[-2] if len(sets) > 1 else self.configured

    @property
    def voters(self) -> VoterSet:
        latest = self.latest
        return latest.voters if latest is not None else self.configured

    @property
    def kraft_version(self) -> int:
        return next((change.version for change in reversed(self._changes) if isinstance(change, KRaftVersionAt)), 0)

    @property
    def dynamic(self) -> bool:
        return self.kraft_version >= DYNAMIC_KRAFT_VERSION


def control_changes(header: BatchHeader, batch: Buffer, *, at_offset: int | None = None) -> list[ControlChange]:
    """The changes in a batch. ``at_offset`` replaces the offsets in a snapshot, which mean nothing.
    Raises ``ValueError`` when the batch is malformed."""
    if not header.control:
        return []
    changes: list[ControlChange] = []
    for index, record in enumerate(open_batch(batch)):
        offset = header.base_offset + index if at_offset is None else at_offset
        kind, value = read_control_type(record), record.value or b""
        if kind == ControlType.KRAFT_VERSION:
            changes.append(KRaftVersionAt(offset, decode(KRaftVersionRecord, KRAFT_VERSION_RECORD_VERSION, value)[0].kraft_version))
        elif kind == ControlType.KRAFT_VOTERS:
            changes.append(VotersAt(offset, read_voters_record(decode(VotersRecord, 0, value)[0])))
    return changes


def kraft_version_value(version: int) -> bytes:
    return encode(KRaftVersionRecord(version=KRAFT_VERSION_RECORD_VERSION, kraft_version=version), KRAFT_VERSION_RECORD_VERSION)


def voters_value(voters: VoterSet) -> bytes:
    return encode(voters_record(voters), 0)
