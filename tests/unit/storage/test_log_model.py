"""A log compared with a list: after any operations in any order, it holds the same batches."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.records.batch_header import read_header
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType
from barnabas.records.validation import Refused
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log import Log, OffsetOutOfRange
from barnabas.storage.log_settings import LogSettings
from tests.unit.storage.logs import NOW_MS, all_batches, data, marker, new_disk, offer, open_partition, sent

# Small enough that a few batches roll, and an index has entries.
TINY = LogSettings(segment_bytes=700, index_interval_bytes=150)


class LogAgainstList(RuleBasedStateMachine):
    """The model is the list of acknowledged batches with their spans; everything else follows from
    it.
    """

    disk: SimulatedDisk
    log: Log

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[bytes] = []
        self.start = 0
        self.flushed = 0
        self.epoch = 0
        self.sequences: dict[int, int] = {}

    @initialize(start=st.sampled_from([0, 100]))
    def create(self, start: int) -> None:
        self.disk = new_disk()
        self.start = self.flushed = start
        self.log = open_partition(self.disk, TINY, log_start_offset=start)

    # -- the model

    @property
    def end(self) -> int:
        return read_header(self.batches[-1]).last_offset + 1 if self.batches else self.log.segments.first.base_offset

    def take(self, batch: bytearray) -> None:
        outcome = offer(self.log, batch, leader_epoch=self.epoch)
        assert not isinstance(outcome, Refused)
        assert not outcome.duplicate
        assert outcome.base_offset == self.end
        self.batches.append(bytes(batch))
        assert outcome.last_offset == self.end - 1

    def forget_from(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if read_header(batch).last_offset < offset]

    # -- the operations

    @rule(count=st.integers(1, 4), size=st.integers(0, 120), codec=st.sampled_from(Codec), timestamp=st.integers(-1, 50))
    def append(self, count: int, size: int, codec: Codec, timestamp: int) -> None:
        self.take(data(count, value=bytes(size // count), codec=codec, timestamp=NOW_MS + timestamp))

    @rule(producer_id=st.integers(1, 3), transactional=st.booleans())
    def append_of_a_producer(self, producer_id: int, transactional: bool) -> None:
        known = self.log.producers.producers.get(producer_id)
        open_transaction = known is not None and known.transaction_first_offset is not None
        sequence = known.last_sequence + 1 if known is not None else 0
        self.take(sent(producer_id, sequence, count=2, transactional=transactional or open_transaction, value=b""))

    @rule(producer_id=st.integers(1, 3), kind=st.sampled_from([ControlType.ABORT, ControlType.COMMIT]))
    def end_a_transaction(self, producer_id: int, kind: ControlType) -> None:
        self.take(marker(producer_id, kind))

    @precondition(lambda self: self.log.producers.producers)
    @rule()
    def retry(self) -> None:
        for producer in self.log.producers:
            if producer.batches:
                last = producer.batches[-1]
                again = sent(producer.producer_id, last.base_sequence, count=last.last_offset - last.base_offset + 1, epoch=producer.epoch)
                outcome = offer(self.log, again)
                assert not isinstance(outcome, Refused)
                assert outcome.duplicate
                assert (outcome.base_offset, outcome.last_offset) == (last.base_offset, last.last_offset)

    @rule()
    def become_leader(self) -> None:
        self.epoch += 1
        self.log.leader_epochs.assign(self.epoch, self.log.log_end_offset)

    @precondition(lambda self: self.log.segments.active.size_bytes > 0)
    @rule()
    def roll(self) -> None:
        self.log.roll(now_ms=NOW_MS)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.flushed = self.end

    @rule(back=st.integers(0, 30))
    def truncate(self, back: int) -> None:
        offset = max(0, self.end - back)
        self.log.truncate_to(offset)
        if offset < self.end:
            if offset <= min((read_header(batch).base_offset for batch in self.batches), default=0):
                self.batches = []
            self.forget_from(offset)
        self.start = min(self.start, self.log.log_end_offset)
        self.flushed = min(self.flushed, self.log.log_end_offset)

    @rule(offset=st.integers(0, 300))
    def start_over(self, offset: int) -> None:
        self.log.truncate_fully(offset)
        self.batches = []
        self.start = self.flushed = offset

    @rule(forward=st.integers(0, 10))
    def advance_start(self, forward: int) -> None:
        self.start = min(self.start + forward, self.end)
        self.log.advance_start(self.start)

    @rule()
    def kill_and_open_again(self) -> None:
        self.disk = self.disk.kill()
        self.log = open_partition(self.disk, TINY, recovery_point=self.flushed, log_start_offset=self.start)

    @rule()
    def close_and_open_again(self) -> None:
        self.log.close()
        self.log = open_partition(self.disk, TINY, clean=True, log_start_offset=self.start)
        self.flushed = self.end

    @rule()
    def lose_power(self) -> None:
        """Flushed records survive, and a prefix of the rest."""
        self.disk = self.disk.crash()
        self.log = open_partition(self.disk, TINY, recovery_point=self.flushed, log_start_offset=self.start)
        if self.log.segments.first.base_offset == self.start and not self.log.size_bytes():
            # The log start was moved above all that survived.
            assert self.flushed <= self.start
            self.batches = []
        assert self.log.log_end_offset >= self.flushed
        self.forget_from(self.log.log_end_offset)

    # -- the invariants

    @invariant()
    def the_log_holds_what_was_appended(self) -> None:
        log = self.log
        assert log.log_start_offset == self.start
        assert log.log_end_offset == self.end
        assert log.recovery_point <= log.log_end_offset
        readable = [batch for batch in self.batches if read_header(batch).last_offset >= self.start]
        assert all_batches(log) == readable

    @invariant()
    def any_offset_in_range_can_be_read(self) -> None:
        for offset in (self.start, (self.start + self.end) // 2, self.end - 1):
            if self.start <= offset < self.end:
                region = self.log.read(offset, size_bytes_max=1, end_offset=self.end, at_least_one=True).region
                assert region is not None
                header = read_header(region.read())
                assert header.base_offset <= offset <= header.last_offset
        for offset in (self.start - 1, self.end + 1):
            try:
                self.log.read(offset, size_bytes_max=1, end_offset=self.end, at_least_one=True)
            except OffsetOutOfRange:
                continue
            raise AssertionError(f"offset {offset} was read from {self.start} to {self.end}")

    @invariant()
    def segments_follow_each_other(self) -> None:
        segments = list(self.log.segments)
        for before, after in pairwise(segments):
            assert before.next_offset == after.base_offset
        for segment in segments:
            assert segment.size_bytes <= TINY.segment_bytes

    @invariant()
    def epochs_are_those_of_the_batches(self) -> None:
        for batch in self.batches:
            header = read_header(batch)
            if header.base_offset >= self.start:
                assert self.log.leader_epochs.epoch_at(header.base_offset) == header.leader_epoch

    @invariant()
    def times_are_found(self) -> None:
        stamps = [(read_header(batch).max_timestamp, read_header(batch)) for batch in self.batches]
        found = self.log.offset_for_timestamp(NOW_MS + 25)
        expected = next((header for stamp, header in stamps if stamp >= NOW_MS + 25 and header.last_offset >= self.start), None)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert expected.base_offset <= found.offset <= expected.last_offset


LogAgainstList.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, derandomize=True, database=None, deadline=None, print_blob=False
)
TestLogAgainstList = LogAgainstList.TestCase
