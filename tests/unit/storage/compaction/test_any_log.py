"""For any log and any cleaning: the table and the offsets stay the same, and a second cleaning
changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings, strategies as st

from barnabas.records.batch_header import TimestampType, read_header
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType
from barnabas.records.record import open_batch
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from tests.unit.both_scanners import BOTH_SCANNERS
from tests.unit.storage.compaction.tables import DAY_MS, aborted_offsets, clean_all, committed, map_bytes_for, new_table, rows, table
from tests.unit.storage.logs import NOW_MS, all_batches, append, marker, open_partition

pytestmark = BOTH_SCANNERS

KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"", b"long" * 40])
ROW = st.tuples(st.one_of(KEYS, KEYS, KEYS, st.none()), st.one_of(st.binary(max_size=40), st.none()))
WRITER = st.sampled_from(["plain", "idempotent", "transactional 1", "transactional 2"])


@dataclass(frozen=True)
class Write:
    rows: list[tuple[bytes | None, bytes | None]]
    writer: str
    codec: Codec
    timestamp_type: TimestampType
    age_ms: int


WRITE = st.builds(
    Write,
    st.lists(ROW, min_size=1, max_size=6),
    WRITER,
    st.sampled_from(Codec),
    st.sampled_from(TimestampType),
    st.integers(0, 200_000),
)
STEP = st.one_of(WRITE, WRITE, WRITE, st.sampled_from([ControlType.ABORT, ControlType.COMMIT]), st.just("roll"))


@dataclass
class Writers:
    log: Log
    sequences: dict[int, int] = field(default_factory=dict)
    in_transaction: set[int] = field(default_factory=set)

    def take(self, step: Write | ControlType | str) -> None:
        match step:
            case Write():
                producer_id = {"plain": -1, "idempotent": 7}.get(step.writer, ord(step.writer[-1]) - ord("0"))
                transactional = step.writer.startswith("transactional")
                sequence = self.sequences.get(producer_id, 0)
                append(
                    self.log,
                    rows(
                        *step.rows,
                        timestamps=[NOW_MS - step.age_ms + index * 3 for index in range(len(step.rows))],
                        codec=step.codec,
                        timestamp_type=step.timestamp_type,
                        producer_id=producer_id,
                        sequence=sequence if producer_id >= 0 else -1,
                        transactional=transactional,
                    ),
                )
                self.sequences[producer_id] = sequence + len(step.rows)
                if transactional:
                    self.in_transaction.add(producer_id)
            case ControlType():
                for producer_id in sorted(self.in_transaction)[:1]:
                    append(self.log, marker(producer_id, step))
                    self.in_transaction.discard(producer_id)
            case _ if self.log.segments.active.size_bytes:
                self.log.roll(now_ms=NOW_MS)


def written(steps: list[Write | ControlType | str]) -> Log:
    log = new_table(LogSettings(segment_bytes=900, index_interval_bytes=120))
    writers = Writers(log)
    for step in steps:
        writers.take(step)
    while writers.in_transaction:
        writers.take(ControlType.ABORT)
    if log.segments.active.size_bytes:
        log.roll(now_ms=NOW_MS)
    log.flush()
    return log


def keyed(log: Log) -> dict[int, tuple[bytes | None, bytes | None, int]]:
    """The committed records with a key, by offset."""
    return {record.offset: (record.key, record.value, record.timestamp) for record in committed(log) if record.key is not None}


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    steps=st.lists(STEP, min_size=1, max_size=25),
    keys_max=st.sampled_from([0, 3, 5, 9, 1 << 12]),
    group_bytes_max=st.sampled_from([0, 900, 2500, 1 << 20]),
)
def test_a_cleaned_log_is_the_same_table(steps: list[Write | ControlType | str], keys_max: int, group_bytes_max: int) -> None:
    log, map_bytes_max = written(steps), map_bytes_for(keys_max)
    before, ends = keyed(log), {segment.next_offset for segment in log.segments}
    latest = {key: offset for offset, (key, _, _) in before.items()}
    assert not aborted_offsets(log) & set(before)

    clean_all(log, map_bytes_max=map_bytes_max, group_bytes_max=group_bytes_max)
    # The last record of each key, at its offset, with its timestamp, and no other.
    assert keyed(log) == {offset: before[offset] for offset in latest.values()}
    assert [record for record in committed(log) if record.key is None] == []
    assert log.log_end_offset == max(ends)
    # Segments reach to each other.
    segments = list(log.segments)
    assert [each.next_offset for each in segments[:-1]] == [each.base_offset for each in segments[1:]]
    for batch in all_batches(log):
        header = read_header(batch)
        assert len(list(open_batch(batch))) == header.record_count

    # Reading may begin at any offset.
    everything = [record.offset for batch in all_batches(log) for record in open_batch(batch)]
    for offset in range(log.log_start_offset, log.log_end_offset):
        found = [record.offset for batch in all_batches(log, start=offset) for record in open_batch(batch)]
        assert [each for each in found if each >= offset] == [each for each in everything if each >= offset]

    # After a crash it is the same log, with the same producers.
    producers = {each.producer_id: (each.epoch, each.last_sequence) for each in log.producers}
    for crashed in (log.disk.kill(), log.disk.crash()):  # type: ignore[attr-defined]
        reopened = open_partition(crashed, log.settings, recovery_point=0)
        assert all_batches(reopened) == all_batches(log)
        assert {each.producer_id: (each.epoch, each.last_sequence) for each in reopened.producers} == producers

    # A second cleaning removes nothing, and values never expire.
    once = all_batches(log)
    values = table(log)
    clean_all(log, map_bytes_max=1 << 20, group_bytes_max=0)
    assert [batch for batch in all_batches(log) if not read_header(batch).control] == [
        batch for batch in once if not read_header(batch).control
    ]
    for days in (1, 2, 3):
        clean_all(log, now_ms=NOW_MS + 2 * days * DAY_MS, map_bytes_max=map_bytes_max, group_bytes_max=group_bytes_max)
    assert table(log) == values
    assert {key for key, value, _ in keyed(log).values() if value is None} == set()
