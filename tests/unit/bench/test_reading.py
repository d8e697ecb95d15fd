"""What the kernel and Apache Kafka's tools print is read as they mean it."""

from __future__ import annotations

import os
import time

import pytest

from bench import usage
from bench.measurement import MeasurementFailed
from bench.rows.java_produce import steady_records_per_second
from bench.rows.variants import Variant
from bench.usage import ProcessStat, parse_stat

PRODUCER_PERFORMANCE = """\
Warmup first 100000 records. Steady state results will print after the complete test summary.
300000 records sent, 31380.753138 records/sec (29.93 MB/sec), 795.41 ms avg latency, 1657.00 ms max latency, 745 ms 50th, 1389 ms 95th, 1603 ms 99th, 1644 ms 99.9th.
200000 steady state records sent, 39635.354736 records/sec (37.80 MB/sec), 689.16 ms avg latency, 943.00 ms max latency, 717 ms 50th, 911 ms 95th, 932 ms 99th, 941 ms 99.9th.
"""  # noqa: E501 - as it is printed


def test_ended_children_have_user_and_system_time() -> None:
    line = "42 (a (strange) name) S 7 42 42 0 -1 4194304 500 0 0 0 100 20 3 4 20 0 9 0 12345 1000000 2000"
    assert parse_stat(line) == ProcessStat(parent=7, ended_children_ticks=7)


def test_this_process_has_cost_something() -> None:
    assert usage.resident_bytes(os.getpid()) > 1_000_000
    used = time.process_time()
    assert usage.cpu_seconds(os.getpid()) >= used > 0


def test_a_process_that_is_gone_is_not_free_of_charge() -> None:
    with pytest.raises(ProcessLookupError):
        usage.cpu_seconds(0)


def test_the_steady_state_counts_and_not_the_whole() -> None:
    assert steady_records_per_second(PRODUCER_PERFORMANCE) == 39635.354736


def test_a_producer_that_printed_something_else_has_failed() -> None:
    with pytest.raises(MeasurementFailed, match="no steady state"):
        steady_records_per_second("300000 records sent, 1 records/sec")


def test_a_variant_is_named_by_what_differs() -> None:
    assert str(Variant(100, 1)) == "100 B, 1 partition"
    assert str(Variant(1000, 6, "lz4")) == "1 KB, 6 partitions, lz4"
    assert Variant(1000, 6).records(250) == 250_000
