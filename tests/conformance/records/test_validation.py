"""Apache Kafka accepts and refuses the batches of ``refusals.py`` as we do, except where the table
gives a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_header import assign_offset, read_header
from barnabas.records.record import open_batch
from barnabas.records.validation import Accepted, validate
from peers.apache_kafka import why_missing
from tests.conformance.storage.oracle import LogOracle, log_oracle
from tests.unit.records.made import NOW_MS
from tests.unit.records.refusals import CASES, Case

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


@pytest.fixture(scope="module")
def kafka() -> Iterator[LogOracle]:
    with log_oracle() as oracle:
        yield oracle


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kafka_decides_as_the_table_expects(case: Case, kafka: LogOracle, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    directory.mkdir()
    kafka.open(directory, case.config, now_ms=NOW_MS)
    answer = kafka.append(case.batch, epoch=3, now_ms=NOW_MS)
    written = (directory / "00000000000000000000.log").read_bytes()
    kafka.ask("close")

    expected = case.code if case.kafka is None else case.kafka
    assert ErrorCode(answer["code"]) is expected, answer
    if not case.why:
        assert tuple(answer.get("record_errors", ())) == case.records
    if expected is not ErrorCode.NONE or case.code is not ErrorCode.NONE:
        return
    ours = validate(memoryview(bytearray(case.batch)), case.rules, now_ms=NOW_MS)
    assert isinstance(ours, Accepted)
    assert answer["append_time_ms"] == ours.append_time_ms
    assign_offset(ours.batch, 0, 3)
    if case.rules.codec is None:
        assert bytes(ours.batch) == written
    else:
        # Two compressors may encode one text differently.
        assert list(open_batch(ours.batch)) == list(open_batch(written))
        sealed = {"crc": 0, "batch_length": 0}
        assert read_header(ours.batch)._replace(**sealed) == read_header(written)._replace(**sealed)
