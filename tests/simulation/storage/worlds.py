"""A partition, its owner, and the states that a power cut may leave.

The owner works like a broker around a log: it checkpoints recovery points and log starts in the
order that makes them true, and leaves a mark when it stops cleanly. Beside that it keeps the
*promise*: which batches were appended to the log, and up to which offset they were flushed.
:func:`check` compares the surviving disk with the promise.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from barnabas.env.disk import write_atomically
from barnabas.records.batch_header import assign_offset, read_header
from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.storage.checkpoints import LOG_START_OFFSETS, RECOVERY_POINTS, read_offsets, write_offsets
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import Appended, Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.producer_state import Producer, ProducerState
from barnabas.storage.transaction_index import AbortedTransaction
from tests.unit.storage.logs import NOW_MS, PARTITION, all_batches, append, data, marker, new_disk, offer, offsets, open_partition, sent

SETTINGS = LogSettings(segment_bytes=800, index_interval_bytes=180)
CLEAN_MARK = "/data/.kafka_cleanshutdown"
Scenario: TypeAlias = Callable[["Owner"], None]


class Owner:
    """One process that owns the partition, from its start to its clean stop or crash."""

    def __init__(self, disk: SimulatedDisk, settings: LogSettings = SETTINGS) -> None:
        self.disk = disk
        self.settings = settings
        self.content: list[bytes] = []
        self.in_flight: bytes | None = None
        self.flushed_offset = 0
        self.cut_offset: int | None = None  # during a truncation
        self.start = 0
        self.start_in_flight = 0
        self.open()

    def open(self) -> None:
        clean = self.disk.exists(CLEAN_MARK)
        self.disk.remove(CLEAN_MARK)
        self.disk.sync_directory("/data")
        self.log = open_survivor(self.disk, self.settings, clean=clean)

    def append(self, batch: bytearray, *, leader_epoch: int = 0) -> None:
        expected = bytearray(batch)
        assign_offset(expected, self.log.log_end_offset, leader_epoch)
        self.in_flight = bytes(expected)
        outcome = offer(self.log, batch, leader_epoch=leader_epoch)
        assert isinstance(outcome, Appended)
        assert bytes(batch) == self.in_flight
        self.content.append(self.in_flight)
        self.in_flight = None
        if self.settings.flush_messages == 1:
            self.flushed_offset = self.log.log_end_offset

    def fill(self, batches: int, *, leader_epoch: int = 0, name: str = "") -> None:
        for n in range(batches):
            offset = self.log.log_end_offset
            value = f"{name} {offset} ".encode() * (1 + offset % 5)
            self.append(data(1 + offset % 3, value=value, timestamp=NOW_MS + offset - n % 2 * 10), leader_epoch=leader_epoch)

    def flush(self) -> None:
        self.log.flush()
        self.flushed_offset = self.log.log_end_offset
        self.checkpoint()

    def checkpoint(self) -> None:
        write_offsets(self.disk, f"/data/{RECOVERY_POINTS}", {PARTITION: self.log.recovery_point})

    def truncate(self, offset: int) -> None:
        self.cut_offset = offset
        self.flushed_offset = min(self.flushed_offset, offset)
        self.log.truncate_to(offset)
        self.checkpoint()
        self.content = [batch for batch in self.content if read_header(batch).last_offset < offset]
        self.cut_offset = None

    def start_over(self, offset: int) -> None:
        self.cut_offset = 0
        self.flushed_offset = 0
        self.start_in_flight = offset
        self.log.truncate_fully(offset)
        self.checkpoint()
        write_offsets(self.disk, f"/data/{LOG_START_OFFSETS}", {PARTITION: offset})
        self.content = []
        self.start = offset
        self.cut_offset = None

    def advance_start(self, offset: int) -> None:
        self.start_in_flight = offset
        self.log.advance_start(offset)
        write_offsets(self.disk, f"/data/{LOG_START_OFFSETS}", {PARTITION: offset})
        self.start = offset

    def close(self) -> None:
        self.log.close()
        self.flushed_offset = self.log.log_end_offset
        write_atomically(self.disk, CLEAN_MARK, b'{"version":0,"brokerEpoch":1}')


def open_survivor(disk: SimulatedDisk, settings: LogSettings = SETTINGS, *, clean: bool | None = None) -> Log:
    """As the next process opens it, with the checkpoints of the last one; then it learns the
    topic's settings.
    """
    log = open_partition(
        disk,
        settings,
        clean=disk.exists(CLEAN_MARK) if clean is None else clean,
        recovery_point=read_offsets(disk, f"/data/{RECOVERY_POINTS}").get(PARTITION, 0),
        log_start_offset=read_offsets(disk, f"/data/{LOG_START_OFFSETS}").get(PARTITION),
    )
    log.configure(settings)
    return log


# -- scenarios


def appends_rolls_and_flushes(owner: Owner) -> None:
    for round_number in range(4):
        owner.fill(7, leader_epoch=round_number // 2, name="round")
        if round_number != 2:
            owner.flush()


def producers_and_transactions(owner: Owner) -> None:
    sequences = {1: 0, 2: 0, 3: 0}
    for step in range(24):
        producer_id = 1 + step % 3
        transactional = producer_id != 3
        owner.append(sent(producer_id, sequences[producer_id], count=2, transactional=transactional, value=b"x" * (step * 7 % 60)))
        sequences[producer_id] += 2
        if step % 5 == 4:
            owner.append(marker(1 + step % 2, ControlType.ABORT if step % 10 == 4 else ControlType.COMMIT, coordinator_epoch=step))
        if step % 9 == 8:
            owner.flush()


def truncations(owner: Owner) -> None:
    owner.fill(20, leader_epoch=1, name="first")
    owner.append(sent(1, 0, transactional=True), leader_epoch=1)
    owner.flush()
    owner.fill(6, leader_epoch=2, name="second")
    bases = [segment.base_offset for segment in owner.log.segments]
    owner.truncate(bases[-2] + 1)
    owner.fill(9, leader_epoch=3, name="third")
    owner.truncate([segment.base_offset for segment in owner.log.segments][1])
    owner.fill(4, leader_epoch=4, name="fourth")
    owner.flush()
    owner.fill(2, leader_epoch=4, name="fifth")


def starts_over(owner: Owner) -> None:
    owner.fill(12, leader_epoch=1, name="old")
    owner.append(sent(1, 0), leader_epoch=1)
    owner.flush()
    owner.start_over(500)
    owner.fill(9, leader_epoch=2, name="new")
    owner.flush()
    owner.fill(3, leader_epoch=2, name="newer")


def clean_stops(owner: Owner) -> None:
    owner.fill(9, leader_epoch=1, name="one")
    owner.append(sent(1, 0, transactional=True), leader_epoch=1)
    owner.append(marker(1, ControlType.ABORT), leader_epoch=1)
    owner.close()
    owner.open()
    owner.fill(9, leader_epoch=2, name="two")
    owner.close()
    owner.open()
    owner.fill(2, leader_epoch=3, name="three")


def a_flush_for_every_batch(owner: Owner) -> None:
    owner.fill(11, leader_epoch=1, name="safe")
    owner.append(sent(1, 0, transactional=True), leader_epoch=1)
    owner.append(marker(1, ControlType.ABORT), leader_epoch=1)
    owner.fill(6, leader_epoch=2, name="safer")


def flushes_elsewhere(owner: Owner) -> None:
    """Another thread syncs while batches are appended and segments sealed; the recovery point is
    checkpointed when it reports.
    """
    for _ in range(4):
        owner.fill(5, leader_epoch=1, name="before")
        offset, segments = owner.log.flushing.begin(owner.log.log_end_offset)
        for segment in segments:
            owner.fill(1, leader_epoch=1, name="meanwhile")
            segment.sync()
        owner.log.roll(now_ms=NOW_MS)
        owner.log.flushing.end(offset)
        owner.flushed_offset = owner.log.recovery_point
        owner.checkpoint()


def a_roll_right_after_a_flush(owner: Owner) -> None:
    for _ in range(3):
        owner.fill(3, leader_epoch=1, name="rolled")
        owner.flush()
        owner.log.roll(now_ms=NOW_MS)
        owner.fill(1, leader_epoch=1, name="next")
        owner.flush()


def records_deleted(owner: Owner) -> None:
    owner.fill(12, leader_epoch=1, name="kept")
    owner.flush()
    owner.fill(8, leader_epoch=2, name="deleted")
    owner.advance_start(owner.log.log_end_offset - 2)
    owner.fill(4, leader_epoch=2, name="more")
    owner.flush()


def unclean_restarts(owner: Owner) -> None:
    """The process dies twice; the next one has to repair its log while nothing is durable yet."""
    for epoch in (1, 2, 3):
        owner.fill(8, leader_epoch=epoch, name=f"life {epoch}")
        if epoch == 2:
            owner.flush()
        owner.open()


SCENARIOS: dict[str, Scenario] = {
    each.__name__: each
    for each in (
        appends_rolls_and_flushes,
        producers_and_transactions,
        truncations,
        starts_over,
        clean_stops,
        a_flush_for_every_batch,
        flushes_elsewhere,
        a_roll_right_after_a_flush,
        records_deleted,
        unclean_restarts,
    )
}


def settings_of(scenario: str) -> LogSettings:
    return replace(SETTINGS, flush_messages=1) if scenario == "a_flush_for_every_batch" else SETTINGS


def run_until(scenario: str, step: int, *, seed: int) -> tuple[Owner, bool]:
    """Run a scenario and cut the power before its operation of this number; returns whether it came
    that far.
    """
    disk = new_disk(seed)
    owner = Owner(disk, settings_of(scenario))
    disk.crash_after(step)
    with suppress(PowerCut):
        SCENARIOS[scenario](owner)
        return owner, False
    return owner, True


# -- the expected findings


def check(owner: Owner, disk: SimulatedDisk, *, everything: bool) -> None:
    """Compare a surviving disk with the promise; with ``everything``, all acknowledged records must
    be there.
    """
    log = open_survivor(disk, owner.settings)
    survivors = batches_on_disk(log)
    check_promise(owner, log, survivors, everything=everything)
    check_readable(log, survivors)
    check_state(log, survivors)

    # Opened once more, after the death of the process or another power cut, it is the same log.
    # Data that only the page cache held when the process died may still be lost.
    for again in (disk.kill(), disk.crash()) if not everything else (disk.kill(),):
        reopened = open_survivor(again, owner.settings)
        assert batches_on_disk(reopened) == survivors
        check_state(reopened, survivors)
        assert summary(reopened.producers) == summary(log.producers)
        assert reopened.leader_epochs.entries == log.leader_epochs.entries
        assert (reopened.log_start_offset, reopened.log_end_offset) == (log.log_start_offset, log.log_end_offset)

    # And it accepts appends.
    append(log, data(value=b"after"), leader_epoch=9)
    assert offsets(batches_on_disk(log))[len(survivors) :] == [(log.log_end_offset - 1, log.log_end_offset - 1)]


def batches_on_disk(log: Log) -> list[bytes]:
    """All batches of all segments, whole and with the right checksum, or this raises."""
    return [bytes(batch) for segment in log.segments for _, _, batch in segment.scan()]


def check_promise(owner: Owner, log: Log, survivors: list[bytes], *, everything: bool) -> None:
    allowed = owner.content + ([owner.in_flight] if owner.in_flight is not None else [])
    assert log.log_start_offset in (owner.start, owner.start_in_flight)
    if not survivors and log.log_start_offset == owner.start_in_flight and owner.cut_offset is None:
        # Either all survivors were below a start that was moved above them, or there were none.
        assert owner.flushed_offset <= log.log_start_offset
        assert not everything or not owner.content
        return
    assert survivors == allowed[: len(survivors)], "the log holds other batches than those appended"
    end = log.log_end_offset
    assert end >= owner.flushed_offset, f"flushed up to {owner.flushed_offset}, found up to {end}"
    if everything:
        least = len(owner.content) if owner.cut_offset is None else sum(1 for span in offsets(owner.content) if span[1] < owner.cut_offset)
        assert len(survivors) >= least, "an acknowledged batch is missing"


def check_readable(log: Log, survivors: list[bytes]) -> None:
    spans = offsets(survivors)
    for (_, last), (first, _) in pairwise(spans):
        assert first == last + 1, "a hole between batches"
    assert log.log_end_offset == (spans[-1][1] + 1 if spans else log.segments.first.base_offset)
    assert all_batches(log) == [batch for batch, (_, last) in zip(survivors, spans, strict=True) if last >= log.log_start_offset]
    for segment in log.segments:
        assert segment.index.fault(segment.size_bytes) is None
        assert segment.time_index.fault(segment.next_offset) is None
        for position, header, _ in segment.scan():
            for offset in (header.base_offset, header.last_offset):
                found = segment.locate(offset)
                assert found is not None
                assert found.position == position


def check_state(log: Log, survivors: list[bytes]) -> None:
    """All derived state equals the state from replaying the surviving batches."""
    producers, aborts, epochs = ProducerState(), list[AbortedTransaction](), list[EpochStart]()
    stamps = {segment.base_offset: -1 for segment in log.segments}
    for batch in survivors:
        header = read_header(batch)
        aborted = producers.replay(header, batch, header.base_offset)
        aborts += [aborted] if aborted is not None else []
        if not epochs or header.leader_epoch > epochs[-1].epoch:
            epochs.append(EpochStart(header.leader_epoch, header.base_offset))
        base = log.segments.holding(header.base_offset).base_offset
        stamps[base] = max(stamps[base], header.max_timestamp)
    assert summary(log.producers) == summary(producers)
    assert [each for segment in log.segments for each in segment.transaction_index.entries()] == aborts
    assert {segment.base_offset: segment.max_timestamp for segment in log.segments} == stamps
    # A leader may have begun its epoch and written nothing yet.
    known = [entry for entry in log.leader_epochs.entries if entry.start_offset < log.log_end_offset]
    assert known == [entry for entry in after_start(epochs, log.log_start_offset) if entry.start_offset < log.log_end_offset]


def after_start(epochs: list[EpochStart], start: int) -> list[EpochStart]:
    spanning = [EpochStart(entry.epoch, start) for entry in epochs if entry.start_offset <= start]
    return spanning[-1:] + [entry for entry in epochs if entry.start_offset > start]


def summary(producers: ProducerState) -> dict[int, tuple[object, ...]]:
    """The content of a snapshot: the last batch of every producer."""

    def of(producer: Producer) -> tuple[object, ...]:
        last = producer.batches[-1] if producer.batches else None
        return producer.epoch, last, producer.coordinator_epoch, producer.last_timestamp, producer.transaction_first_offset

    return {producer.producer_id: of(producer) for producer in producers}
