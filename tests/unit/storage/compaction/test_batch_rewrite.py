"""Batches whose records have other times than the batch says: a producer may have made them so."""

from __future__ import annotations

import pytest

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.record import Record, open_batch, write_record
from barnabas.records.record_scan import body_of
from barnabas.storage.compaction.batch_rewrite import Batch, reduced, with_delete_horizon
from tests.unit.records.made import with_body, with_header

NOW_MS = 1_700_000_000_000
HORIZON_MS = NOW_MS + 86_400_000
YEAR_MS = 365 * 86_400_000


def lying(*deltas: int, base_timestamp: int = NOW_MS) -> Batch:
    """Tombstones with these timestamp deltas, in a batch that says that all of them are of now."""
    body = bytearray()
    for offset, delta in enumerate(deltas):
        write_record(body, offset_delta=offset, timestamp_delta=delta, record=Record(0, 0, b"k%d" % offset, None))
    plain = build_batch([Record(0, NOW_MS, b"k", None)])
    changed = with_header(
        with_body(plain, bytes(body)),
        record_count=len(deltas),
        last_offset_delta=len(deltas) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=NOW_MS,
    )
    return Batch(read_header(changed), changed)


@pytest.mark.parametrize("delta", [YEAR_MS, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("base_timestamp", [NOW_MS, 2**63 - 1, -(2**63)])
def test_a_rewritten_batch_keeps_the_times_of_its_records_and_gets_no_later_one(delta: int, base_timestamp: int) -> None:
    batch = lying(0, delta, base_timestamp=base_timestamp)
    before = [record.timestamp for record in open_batch(batch.data)]
    for rewritten in (
        reduced(batch.header, body_of(batch.data, batch.header), [1]),
        with_delete_horizon(batch.header, body_of(batch.data, batch.header), [1], HORIZON_MS),
    ):
        assert read_header(rewritten.data).max_timestamp <= NOW_MS
        assert [record.timestamp for record in open_batch(rewritten.data)] == before[1:]
