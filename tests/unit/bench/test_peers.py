"""The peers take part in the rows that they can do, and the page says what each is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas.wire.apis import ApiKey
from bench.peers import builds
from bench.peers.apis import missing
from bench.peers.builds import Build, first_error, go_version, is_fresh
from bench.peers.facts import FACTS
from bench.peers.page import PeerRun, heading_and_columns, page
from bench.peers.rows import ALL, Latency, SmallRequests, Start, Throughput, taking_part
from bench.peers.run import choose
from bench.peers.systems import Kfake, NatsJetStream, all_peers
from bench.results import RowResult
from bench.systems import System
from tests.unit.bench.stage import OURS, THEIRS

EVERY_SYSTEM: list[System] = [OURS, THEIRS, *all_peers()]


def run_of(*results: RowResult, missing: Mapping[str, str] | None = None, apis: Mapping[str, frozenset[int]] | None = None) -> PeerRun:
    return PeerRun(
        date="2026-01-01",
        machine={"processor": "abacus, 2 cores"},
        systems=[OURS, THEIRS, Kfake(on_disk=False), NatsJetStream(on_disk=True)],
        versions={"barnabas": "1.0", "kafka": "4.3.0", "kfake-memory": "v0", "nats-files": "v2"},
        missing=missing or {},
        apis=apis or {},
        rounds=3,
        quick=False,
        results=results,
    )


# -- rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [Start(), SmallRequests(8)], ids=lambda row: row.family)
def test_rows_of_kafka_requests_leave_nats_out(row: Start | SmallRequests) -> None:
    keys = [system.key for system in taking_part(row, EVERY_SYSTEM)]
    assert keys == ["barnabas", "kafka", "kfake-memory", "kfake-files", "tansu-memory", "tansu-sqlite"]


@pytest.mark.parametrize("row", [Throughput("produce", 1000), Throughput("consume", 100), Latency()], ids=lambda row: row.family)
def test_rows_with_any_client_have_every_system(row: Throughput | Latency) -> None:
    assert taking_part(row, EVERY_SYSTEM) == EVERY_SYSTEM


def test_every_figure_of_the_peers_has_a_name_of_its_own_and_no_goal() -> None:
    figures = [figure for row in ALL for figure in row.figures]
    assert len({figure.name for figure in figures}) == len(figures)
    assert all(figure.goal is None for figure in figures)


def test_every_row_of_the_peers_says_what_it_is() -> None:
    assert all(row.about.endswith(".") and row.family for row in ALL)


# -- systems ---------------------------------------------------------------------------------------


def test_every_system_has_facts() -> None:
    assert {system.key for system in EVERY_SYSTEM} == set(FACTS)
    assert all(sentence.endswith(".") for facts in FACTS.values() for sentence in facts.sentences)


def test_a_peer_in_memory_keeps_no_directory() -> None:
    data = Path("data")
    assert not [word for word in Kfake(on_disk=False).command(1234, data) if "data" in word.rpartition("/")[2]]
    assert "-data=data" in Kfake(on_disk=True).command(1234, data)


def test_systems_that_cannot_be_built_are_left_out_with_the_reason() -> None:
    chosen, reasons = choose(EVERY_SYSTEM, lambda system: "cargo is not installed" if "Tansu" in system.name else None)
    assert [system.key for system in chosen] == ["barnabas", "kafka", "kfake-memory", "kfake-files", "nats-memory", "nats-files"]
    assert reasons == {"Tansu, memory": "cargo is not installed", "Tansu, SQLite": "cargo is not installed"}


# -- builds ----------------------------------------------------------------------------------------


def test_a_missing_tool_is_named(tmp_path: Path) -> None:
    build = Build(tmp_path / "program", "no-such-tool", ("no-such-tool", "build"))
    assert builds.why_missing(build) == "no-such-tool is not installed"


def test_a_program_older_than_its_sources_is_stale(tmp_path: Path) -> None:
    program, source = tmp_path / "program", tmp_path / "main.go"
    build = Build(program, "sh", (), sources=(source,))
    source.touch()
    assert not is_fresh(build)
    program.touch()
    os.utime(source, (1, 1))
    assert is_fresh(build)
    os.utime(program, (0, 0))
    assert not is_fresh(build)


def test_the_cause_that_cargo_writes_is_part_of_the_error() -> None:
    written = "warning: one\nerror: failed to compile\n\nCaused by:\n  rustc 1.95.0 is not supported\n"
    assert first_error(written) == "error: failed to compile rustc 1.95.0 is not supported"


def test_versions_of_go_modules_are_pinned() -> None:
    modules = ("github.com/twmb/franz-go/pkg/kfake", "github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go")
    assert all(go_version(module).startswith("v") for module in modules)


# -- the page --------------------------------------------------------------------------------------


def test_columns_are_what_the_figures_do_not_share() -> None:
    assert heading_and_columns(Throughput("produce", 1000)) == ("produce, 1 KB", ["MB/s", "server CPU, s/GB"])
    heading, columns = heading_and_columns(Latency())
    assert heading == "end-to-end latency"
    assert columns == ["p50, us", "p90, us", "p99, us", "server CPU, us/record"]
    assert heading_and_columns(Start())[0] == "start"


def test_the_page_has_a_line_for_each_system_that_took_part() -> None:
    measured: dict[str, list[tuple[float, ...]]] = {"barnabas": [(10.0, 1.0), (30.0, 1.0), (20.0, 1.0)], "kfake-memory": [(40.0, 2.0)]}
    failed = {"kafka": "it died"}
    text = page(run_of(RowResult(Throughput("produce", 1000), rounds=measured, failures=failed)))
    assert "### Produce, 1 KB\n\n|  | MB/s | server CPU, s/GB |\n" in text
    assert "| Barnabas | 20.0 (10.0-30.0) | 1.00 |" in text
    assert "| Apache Kafka | failed | failed |" in text
    assert "- produce, 1 KB: Apache Kafka failed: `it died`" in text
    assert "| NATS JetStream, files | files | page cache | every 2 minutes | with a cluster | none |" in text


def test_the_page_names_systems_that_were_left_out() -> None:
    assert "- Tansu, memory was not measured: cargo is not installed." in page(run_of(missing={"Tansu, memory": "cargo is not installed"}))


def test_the_page_names_the_apis_that_a_peer_lacks() -> None:
    apis = {"kafka": frozenset({0, 1, 22}), "kfake-memory": frozenset({0, 1})}
    assert "ApiVersions lacks 1 of the 3 APIs of Apache Kafka's broker: InitProducerId." in page(run_of(apis=apis))


def test_missing_apis_have_the_names_of_kafka() -> None:
    wanted = frozenset({ApiKey.PRODUCE, ApiKey.ADD_PARTITIONS_TO_TXN})
    assert missing(wanted, frozenset({ApiKey.PRODUCE})) == ["AddPartitionsToTxn"]
