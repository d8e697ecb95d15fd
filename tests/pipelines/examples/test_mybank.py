"""MyBank on both databases: the alerts are those that plain Python finds, also after customers have
changed their limits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from barnabas.registry_client import RegistryClient
from examples.mybank.bank import large_ones, thresholds, transactions
from examples.mybank.database import Ledger, jdbc_url, open_ledger
from examples.mybank.payments import Payments
from examples.mybank.phones import Phones
from examples.mybank.programs import running_console
from examples.mybank.run import (
    HERE,
    PIPELINES,
    TRANSACTION_COUNT,
    captured_transactions,
    is_kept,
    keep_up,
    later_alerts,
    later_delays,
    prepare,
)
from examples.mybank.topics import ALERTS, THRESHOLDS
from examples.stage import Stage
from tests.pipelines.conftest import Broker
from tests.pipelines.databases import database
from tests.pipelines.examples.conftest import cleared_afterwards
from tests.registry_process import RegistryProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HALF = 600
DEMO_SECONDS_MAX = 900


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_alerts_are_the_payments_above_the_customers_limits(
    kind: str, spark: SparkSession, broker: Broker, registry: RegistryProcess, tmp_path: Path
) -> None:
    with ledger_of(kind, spark, tmp_path) as ledger, cleared_afterwards(broker.bootstrap):
        stage = Stage(broker.bootstrap, tmp_path, spark, {"BANK_JDBC_URL": ledger.jdbc_url, "REGISTRY": registry.url})
        history, limits = list(transactions(2 * HALF)), thresholds()
        ledger.create()
        prepare(stage, limits)
        ledger.insert(history[:HALF])
        stage.run(*PIPELINES)
        first = {each["id"] for each in stage.values(ALERTS)}
        assert first == large_ones(history[:HALF], limits) != set()

        careful, careless = sorted(limits)[:2]
        stage.send(THRESHOLDS, [{"account": careful, "cents": 100}], key="account")
        stage.delete(THRESHOLDS, careless)
        ledger.insert(history[HALF:])
        stage.run(*PIPELINES)
        changed = {**limits, careful: 100}
        del changed[careless]
        alerts = stage.values(ALERTS)
        assert sorted(each["id"] for each in alerts) == sorted(first | large_ones(history[HALF:], changed)), "each once"
        assert {each["threshold_cents"] for each in alerts if each["account"] == careful and each["id"] > HALF} == {100}

        captured = captured_transactions(stage, RegistryClient(registry.url))
        assert sorted(each["id"] for each in captured) == [each.id for each in history]
        assert ledger.count_and_sum() == (len(captured), sum(each["cents"] for each in captured))


def test_a_postgresql_url_becomes_a_jdbc_url() -> None:
    assert jdbc_url("postgresql://me:s%2Fcret@db:5433/bank") == "jdbc:postgresql://db:5433/bank?user=me&password=s%2Fcret"
    assert jdbc_url("postgresql:///bank") == "jdbc:postgresql://localhost:5432/bank"


def test_the_demo_reports_missing_java(tmp_path: Path) -> None:
    without_java = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    ended = run_demo(without_java)
    assert ended.returncode == 1
    assert ended.stderr.startswith("The demo cannot run: Spark needs Java 17")
    assert ended.stderr.count("\n") == 1, "one sentence"


def test_the_console_of_the_demo_shows_its_cluster_and_pipelines(broker: Broker, registry: RegistryProcess, tmp_path: Path) -> None:
    with (
        running_console(broker.bootstrap, registry.url, pipelines=HERE, folder=tmp_path) as address,
        urlopen(f"{address}/api/clusters/mybank/pipelines") as answer,
    ):
        found = {each["name"] for each in json.load(answer)["page"]["items"]}
    assert found >= {"mybank-alerts", "mybank-capture"}


def test_the_demo_is_kept_up_only_on_request() -> None:
    assert [is_kept({"KEEP": each}) for each in ("1", "yes", "0", "")] == [True, True, False, False]
    assert not is_kept({})


def test_a_demo_that_is_kept_up_pays_on_until_ctrl_c(tmp_path: Path) -> None:
    bank = Payments(open_ledger(None, tmp_path))
    bank.ledger.create()
    keep_up(_InterruptedAfterPayments(bank), bank, "http://127.0.0.1:8088")  # type: ignore[arg-type]
    assert not bank.is_open
    assert min(bank.paid_at) == TRANSACTION_COUNT + 1
    assert bank.ledger.count_and_sum()[0] == len(bank.paid_at)


def test_only_alerts_about_later_payments_end_the_gap_after_a_kill(tmp_path: Path) -> None:
    bank, phones = Payments(open_ledger(None, tmp_path)), Phones("127.0.0.1:1")
    bank.paid_at |= {1: 10.0, 2: 30.0, 3: 31.0}
    phones.rang_at |= {1: 22.0, 3: 35.0, 2: 34.0}
    assert later_alerts(phones, bank, since=20.0) == [3, 2]
    assert later_delays(phones, bank, since=20.0) == [4.0, 4.0]


@pytest.mark.soak
def test_the_figures_of_the_demo_add_up() -> None:
    ended = run_demo({name: value for name, value in os.environ.items() if name != "KEEP"})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "every transaction captured once, every alert told once" in ended.stdout
    assert "console at http://127.0.0.1:" in ended.stdout


class _InterruptedAfterPayments:
    """Pipelines during whose watch a person presses Ctrl-C, once the bank has paid."""

    def __init__(self, bank: Payments) -> None:
        self._bank = bank

    def watch(self) -> None:
        if self._bank.paid_at:
            raise KeyboardInterrupt


def run_demo(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.mybank.run"],
        cwd=Path(__file__).parents[3],
        env=environment,
        text=True,
        capture_output=True,
        timeout=DEMO_SECONDS_MAX,
        check=False,
    )


@contextmanager
def ledger_of(kind: str, spark: SparkSession, folder: Path) -> Iterator[Ledger]:
    if kind == "sqlite":
        yield open_ledger(None, folder)
        return
    with database(kind, spark, folder) as running:
        assert running.server is not None
        yield open_ledger(f"postgresql://barnabas:secret@127.0.0.1:{running.server.port}/postgres", folder)
