"""A power cut at every step of copying a log to a mounted store: announced segments exist, and the
next leader copies the rest.

The metadata topic is durable on its own; here it is a list. The mount is a directory of the same
disk, so that the cut affects both.
"""

from __future__ import annotations

from itertools import count

import pytest

from barnabas.records.batches import walk
from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.tiered.expiry_plan import ABANDONED_COPY_MS, ExpiryReason, plan_expiry
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.chain import build_chain
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata, RemoteSegmentUpdate
from barnabas.tiered.metadata.segment_state import SegmentState
from barnabas.tiered.store.directory_store import DirectoryStore
from tests.unit.storage.logs import NOW_MS, append, fill, marker, open_partition, sent
from tests.unit.tiered.worlds import NAMES, REMOTE, copied_offset, disk_with_store, nothing, prepare, reader

Event = RemoteSegmentMetadata | RemoteSegmentUpdate
BATCHES = 34
OUTCOMES_OF_A_CUT = 2


class World:
    """A log of four segments, all of it flushed, and a leader that copies it."""

    def __init__(self, seed: int) -> None:
        self.disk, _ = disk_with_store(seed)
        self.topic: list[Event] = []
        log = open_partition(self.disk)
        append(log, sent(7, 0, transactional=True))
        append(log, marker(7, ControlType.ABORT))
        fill(log, BATCHES - 2)
        log.close()
        self.content = b"".join(
            self.disk.read(f"/data/topic-0/{name}") for name in self.disk.names("/data/topic-0") if name.endswith(".log")
        )
        assert len(list(walk(self.content))) == BATCHES

    def catalogue(self) -> RemoteCatalogue:
        made = RemoteCatalogue()
        for event in self.topic:
            made.apply(event)
        return made

    def lead(self, disk: SimulatedDisk, *, now_ms: int = NOW_MS) -> None:
        """Remove abandoned copies, then copy the segments that are not remote yet; each step is
        announced as the node would.
        """
        store = DirectoryStore(disk, REMOTE)
        log = open_partition(disk, recovery_point=BATCHES)
        epochs, end = log.leader_epochs.entries, log.log_end_offset
        plan = plan_expiry(
            self.catalogue(),
            epochs,
            log_start_offset=0,
            log_end_offset=end,
            local_only_bytes=0,
            retention_ms=-1,
            retention_bytes=-1,
            now_ms=now_ms,
        )
        for each in plan.expiring:
            assert each.reason in (ExpiryReason.ABANDONED, ExpiryReason.DELETION_BEGUN)
            self.announce(each.segment, SegmentState.DELETE_SEGMENT_STARTED)
            store.delete(NAMES.all_of(each.segment))
            self.announce(each.segment, SegmentState.DELETE_SEGMENT_FINISHED)
        while True:
            copied = copied_offset(self.catalogue(), log)
            copy = prepare(disk, log, number=len(self.topic) + 1, copied=copied)
            if copy is None:
                return
            self.topic.append(copy.metadata)
            copy.run(store, NAMES, nothing)
            copy.release()
            self.announce(copy.metadata, SegmentState.COPY_SEGMENT_FINISHED)

    def announce(self, segment: RemoteSegmentMetadata, state: SegmentState) -> None:
        self.topic.append(RemoteSegmentUpdate(segment.id, state, broker_id=1, event_timestamp=NOW_MS))

    def assert_readable(self, disk: SimulatedDisk) -> int:
        """Everything announced as copied is readable, byte for byte; returns its end offset."""
        store = DirectoryStore(disk, REMOTE)
        log = open_partition(disk, recovery_point=BATCHES)
        chain = build_chain(self.catalogue(), log.leader_epochs.entries, log.log_end_offset)
        made, offset, found = reader(disk, store), 0, b""
        while chain.holding(offset) is not None:
            read = made.read(chain, offset, size_bytes_max=1 << 20, aborted=True)
            assert offset > 0 or [each.producer_id for each in read.aborted] == [7]
            found, offset = found + read.records, read.next_offset
        made.close()
        assert self.content.startswith(found)
        assert offset == copied_offset(self.catalogue(), log) + 1
        return offset


def cut_everywhere(seed: int) -> int:
    for step in count(1):
        world = World(seed)
        world.disk.crash_after(step)
        was_cut = True
        try:
            world.lead(world.disk)
            world.disk.crash_never()
            was_cut = False
        except PowerCut:
            pass
        events = list(world.topic)
        for outcome in range(OUTCOMES_OF_A_CUT):
            world.topic = list(events)
            survivor = world.disk.crash()
            try:
                world.assert_readable(survivor)
                world.lead(survivor, now_ms=NOW_MS + ABANDONED_COPY_MS)
                whole = world.assert_readable(survivor)
                store = DirectoryStore(survivor, REMOTE)
                kept = {name for each in world.catalogue().segments() for name in NAMES.all_of(each)}
            except Exception as error:
                error.add_note(f"seed {seed}, cut at step {step}, outcome {outcome}")
                raise
            assert whole >= BATCHES - 10
            assert {each.name for each in store.list("")} <= kept, "abandoned copies are removed"
        if not was_cut:
            return step
    raise AssertionError


def test_a_power_cut_at_any_operation_keeps_announced_copies() -> None:
    assert cut_everywhere(seed=1) > 60


@pytest.mark.soak
def test_announced_copies_survive_power_cuts_in_many_worlds() -> None:
    for seed in range(2, 30):
        cut_everywhere(seed)
