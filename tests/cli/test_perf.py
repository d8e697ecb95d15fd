from __future__ import annotations

from array import array

import pytest

from barnabas.cli.perf.measurements import Throughput, spread_of
from tests.cli.running import Cli


@pytest.fixture
def topic(cli: Cli) -> str:
    cli("topics", "create", "perf", "--partitions", 2).worked()
    return "perf"


def test_produce_sends_the_requested_number_of_records_and_ranks_their_latencies(cli: Cli, topic: str) -> None:
    report = cli("perf", "produce", topic, "--records", 2000, "--size", 100, "--json").json
    assert (report["records"], report["bytes"]) == (2000, 200_000)
    assert report["records_per_second"] > 0
    latency = report["latency_ms"]
    assert latency["samples"] == 2000
    assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["p99.9"] <= latency["max"]
    assert sum(each["end_offset"] for each in cli("topics", "describe", topic, "--json").json[0]["partitions"]) == 2000


def test_produce_keeps_to_the_requested_rate(cli: Cli, topic: str) -> None:
    report = cli("perf", "produce", topic, "--records", 200, "--throughput", 500, "--json").json
    assert report["seconds"] >= 0.39


def test_consume_reads_all_records_or_the_requested_number(cli: Cli, topic: str) -> None:
    cli("perf", "produce", topic, "--records", 3000, "--size", 50).worked()
    assert cli("perf", "consume", topic, "--json").json["records"] == 3000
    report = cli("perf", "consume", topic, "--records", 1000, "--json").json
    assert (report["records"], report["bytes"], report["latency_ms"]) == (1000, 50_000, None)


def test_latency_measures_round_trips(cli: Cli, topic: str) -> None:
    report = cli("perf", "latency", topic, "--records", 20, "--json").json
    assert report["latency_ms"]["samples"] == 20
    assert 0 < report["latency_ms"]["p50"] <= report["latency_ms"]["max"]


def test_text_output_is_a_line_and_a_table(cli: Cli, topic: str) -> None:
    done = cli("perf", "produce", topic, "--records", 100)
    assert done.text.startswith("100 records, 0.1 MB in ")
    assert [line.split()[0] for line in done.text.splitlines()[2:]] == ["Latency", "mean", "p50", "p95", "p99", "p99.9", "max"]
    assert cli("perf", "consume", topic).text.startswith("100 records, ")


def test_an_impossible_measurement_is_one_sentence(cli: Cli, topic: str) -> None:
    for words in (("consume", "nope"), ("latency", "nope")):
        assert cli("perf", *words).complaint == "There is no topic nope."
    assert "bad name" in cli("perf", "produce", "bad name").complaint
    assert "--size" in cli("perf", "produce", topic, "--size", 0).complaint
    cli("configs", "alter", "--topic", topic, "--set", "max.message.bytes=200").worked()
    assert "10 of 10 records were not delivered" in cli("perf", "produce", topic, "--records", 10, "--size", 1000).complaint
    assert "Cannot measure" in cli("perf", "latency", topic, "--records", 10, "--size", 1000).complaint


def test_percentiles_are_measured_values() -> None:
    spread = spread_of(array("d", [float(number) for number in range(1000, 0, -1)]))
    assert spread is not None
    assert spread.percentiles == {50.0: 500.0, 95.0: 950.0, 99.0: 990.0, 99.9: 999.0}
    assert (spread.mean, spread.largest, spread.samples) == (500.5, 1000.0, 1000)
    single = spread_of(array("d", [7.0]))
    assert single is not None
    assert set(single.percentiles.values()) == {7.0}
    assert spread_of(array("d")) is None


def test_a_duration_of_zero_is_no_division_by_zero() -> None:
    assert Throughput(5, 5, 0.0).records_per_second == 0.0
