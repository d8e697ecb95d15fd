"""MyBank, the demo (``make demo``): database, brokers, Spark pipelines, phones, and a dead broker.

    bank's table --capture.yaml--> bank.transactions --alerts.yaml--> bank.alerts --> phones
                                   bank.thresholds ----^

Transactions are Avro, with their schema in the registry; alerts and thresholds are JSON.

While the bank is at work, the demo kills the broker that is the active controller. Alerts continue
to arrive; the broker comes back. At the end the demo counts on three sides: rows in the database,
records in the topic, and alerts on phones against those that were due.

``BANK_URL=postgresql://user:password@host/database`` puts the bank on PostgreSQL; otherwise it is a
temporary SQLite file. With ``KEEP=1`` everything stays up after the count, the console included,
and the bank goes on until Ctrl-C.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from barnabas.devcluster.development_cluster import DevelopmentCluster
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.running.progress_topic import ProgressTopic
from barnabas.pipelines.running.runner import Run
from barnabas.pipelines.session import check_spark
from barnabas.registry_client import RegistryClient
from barnabas.schemas import AvroDeserializer
from examples.mybank.bank import large_ones, thresholds, transactions
from examples.mybank.database import Ledger, open_ledger
from examples.mybank.payments import Payments
from examples.mybank.phones import Phones
from examples.mybank.programs import running_console, running_registry
from examples.mybank.topics import ALERTS, PARTITIONS, THRESHOLDS, TRANSACTIONS
from examples.stage import Stage, open_spark

HERE = Path(__file__).parent
CAPTURE, ALERTING = HERE / "capture.yaml", HERE / "alerts.yaml"
PIPELINES = (CAPTURE, ALERTING)
BROKERS = 3
TRANSACTION_COUNT = 10_000
# With KEEP: some days of payments, which is longer than anyone looks at them.
LATER_COUNT = 100_000_000
# The limit for alerts to begin, to continue after the kill, and to be complete, on a machine that
# is busy with other things.
PATIENCE_SECONDS = 240.0
_POLL_SECONDS = 0.1

console = Console()


def main() -> None:
    began = time.perf_counter()
    try:
        check_spark()
    except PipelineError as wrong:
        raise SystemExit(f"The demo cannot run: {wrong}") from wrong
    with tempfile.TemporaryDirectory(prefix="barnabas-mybank-") as name, ExitStack() as at_end:
        folder = Path(name)
        ledger = open_ledger(os.environ.get("BANK_URL"), folder)
        ledger.create()
        console.print(f"[bold]database[/] of the bank: {ledger.name}, with an empty table of transactions")
        cluster = at_end.enter_context(_cluster(folder))
        console.print(f"[bold]cluster[/] of {BROKERS} brokers at {cluster.bootstrap}, ready after {time.perf_counter() - began:.1f} s")
        registry = at_end.enter_context(running_registry(cluster.bootstrap))
        console.print(f"[bold]registry[/] of schemas at {registry}")
        address = at_end.enter_context(running_console(cluster.bootstrap, registry, pipelines=HERE, folder=folder))
        console.print(f"[bold]console[/] at {address}", soft_wrap=True)
        variables = {"BOOTSTRAP": cluster.bootstrap, "REGISTRY": registry, "FOLDER": name, "BANK_JDBC_URL": ledger.jdbc_url}
        session = at_end.enter_context(open_spark(PIPELINES, folder, variables))
        console.print(f"[bold]Spark[/] {session.version} ready after {time.perf_counter() - began:.1f} s")
        try:
            tell(Stage(cluster.bootstrap, folder, session, variables), cluster, ledger, RegistryClient(registry), address)
        except PipelineError as wrong:
            raise SystemExit(str(wrong)) from wrong
    console.print(f"[bold]done[/] in {time.perf_counter() - began:.0f} s")


def tell(stage: Stage, cluster: DevelopmentCluster, ledger: Ledger, registry: RegistryClient, address: str) -> None:
    """The whole demo, from the first threshold to the last count. ``SystemExit`` when the counts
    differ."""
    history, limits = list(transactions(TRANSACTION_COUNT)), thresholds()
    expected = large_ones(history, limits)
    prepare(stage, limits)
    console.print(f"[bold]thresholds[/] set by {len(limits)} customers, as records of the compacted topic {THRESHOLDS}")

    phones = Phones(stage.bootstrap)
    phones.open()
    with _running(stage) as pipelines:
        console.print("[bold]pipelines[/] capture.yaml and alerts.yaml at work, exactly once")
        _show_schema(registry)
        bank = Payments(ledger)
        bank.begin(history)
        _await(lambda: phones.count > 0, pipelines, "alerts did not begin to arrive")
        console.print(f"[bold]phone[/] of {phones.last['account']} rings: {_sentence(phones.last)}")
        warm = time.perf_counter()
        bank.day_may_go_on.set()
        _await(lambda: len(later_delays(phones, bank, warm)) >= len(expected) // 5, pipelines, "too few alerts arrived")
        _lose_a_broker(stage, cluster, phones, pipelines, bank, warm)
        _await(lambda: not bank.is_open, pipelines, "the bank is not done")
        console.print(f"[bold]bank[/] closes after {len(history):,} transactions")
        _await(lambda: phones.count >= len(expected), pipelines, f"not all of the {len(expected)} alerts that were due have arrived")
        # Alerts do not wait for the last payments, of which none may be large.
        rows, _ = ledger.count_and_sum()
        _await(lambda: len(captured_transactions(stage, registry)) >= rows, pipelines, "not every transaction was captured")
        summarize(stage, ledger, expected, phones, registry)
        if is_kept(os.environ):
            keep_up(pipelines, bank, address)
    phones.close()


def is_kept(environment: Mapping[str, str]) -> bool:
    return environment.get("KEEP", "") not in ("", "0")


def keep_up(pipelines: Watched, bank: Payments, address: str) -> None:
    """Until Ctrl-C. Raises ``RunFailed`` when a pipeline fails meanwhile."""
    console.print(f"[bold]kept up[/], and the bank goes on: look at {address} and end it with Ctrl-C", soft_wrap=True)
    bank.go_on(islice(transactions(LATER_COUNT), TRANSACTION_COUNT, None))
    try:
        while True:
            pipelines.watch()
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        console.print("[bold]bank[/] closes for good")
    finally:
        bank.close()


def prepare(stage: Stage, limits: dict[str, int]) -> None:
    stage.create(TRANSACTIONS, ALERTS, partitions=PARTITIONS)
    stage.create(THRESHOLDS, partitions=PARTITIONS, compacted=True)
    stage.send(THRESHOLDS, ({"account": account, "cents": cents} for account, cents in limits.items()), key="account")


def captured_transactions(stage: Stage, registry: RegistryClient) -> list[Any]:
    return stage.values(TRANSACTIONS, AvroDeserializer(registry))


def summarize(stage: Stage, ledger: Ledger, expected: set[int], phones: Phones, registry: RegistryClient) -> None:
    rows, cents = ledger.count_and_sum()
    captured = captured_transactions(stage, registry)
    twice = sum(times - 1 for times in phones.times.values())
    table = Table("counted where", "transactions", "amount", "alerts", title="MyBank's day")
    table.add_row(f"in the bank's database ({ledger.name})", f"{rows:,}", f"{cents / 100:,.2f}", f"{len(expected):,} due")
    table.add_row(f"in topic {TRANSACTIONS}", f"{len(captured):,}", f"{sum(each['cents'] for each in captured) / 100:,.2f}", "")
    table.add_row(f"in topic {ALERTS}, on phones", "", "", f"{len(phones.times):,} and {twice} twice")
    console.print(table)
    _check(len({each["id"] for each in captured}) == len(captured) == rows, "the topic does not hold every transaction once")
    _check(sum(each["cents"] for each in captured) == cents, "the topic's amounts are not the database's")
    _check(set(phones.times) == expected and not twice, "the alerts are not those that were due, each once")
    console.print("[bold green]every transaction captured once, every alert told once[/], with a broker killed in between")


def _lose_a_broker(stage: Stage, cluster: DevelopmentCluster, phones: Phones, pipelines: Watched, bank: Payments, warm: float) -> None:
    """``warm`` is the time of the first alert."""
    victim, before = _acting_controller(stage.bootstrap), phones.count
    usual = median(later_delays(phones, bank, warm))
    cluster.kill_node(victim)
    killed = time.perf_counter()
    bank.half_may_follow.set()
    console.print(f"[bold red]kill -9[/] of broker {victim}, the active controller, after {before} alerts")
    # An alert about an earlier payment may have been in flight.
    _await(lambda: later_delays(phones, bank, killed) != [], pipelines, "no alert arrived after a broker was killed")
    gap = min(phones.rang_at[each] for each in later_alerts(phones, bank, killed)) - killed
    console.print(
        f"[bold]alerts[/] go on with two brokers: the first about a later payment came {gap:.1f} s after the kill; "
        f"before, an alert came {usual:.1f} s after its payment"
    )
    _await(lambda: phones.count >= before + 30, pipelines, "too few alerts arrived after a broker was killed")
    cluster.start_node(victim)
    cluster.await_node(victim)
    console.print(f"[bold]broker {victim}[/] is back {time.perf_counter() - killed:.1f} s after it was killed, and catches up")


def later_alerts(phones: Phones, bank: Payments, since: float) -> list[int]:
    """The payments made after ``since`` whose phones rang."""
    return [each for each in phones.rang_at.copy() if bank.paid_at[each] > since]


def later_delays(phones: Phones, bank: Payments, since: float) -> list[float]:
    """The seconds from each of these payments to its alert."""
    return [phones.rang_at[each] - bank.paid_at[each] for each in later_alerts(phones, bank, since)]


def _show_schema(registry: RegistryClient) -> None:
    subject = f"{TRANSACTIONS}-value"
    latest = registry.latest(subject)
    fields = ", ".join(each["name"] for each in json.loads(latest.text)["fields"])
    versions = ", ".join(map(str, registry.versions(subject)))
    console.print(f"[bold]schema[/] {subject}, versions: {versions}; the latest has id {latest.id} and the fields {fields}")


@contextmanager
def _cluster(folder: Path) -> Iterator[DevelopmentCluster]:
    cluster = DevelopmentCluster(BROKERS, data_dir=folder / "cluster", overrides={"min.insync.replicas": "2"}, on_line=lambda _: None)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


class Watched:
    """Pipelines that run, and report their progress to the topic that the console reads."""

    def __init__(self, run: Run, topics: Sequence[ProgressTopic]) -> None:
        self._run = run
        self._topics = topics

    def watch(self) -> None:
        """Raises ``RunFailed`` when a pipeline has failed."""
        self._run.wait(self._topics, seconds_max=0.0)

    def stop(self) -> None:
        runs = [
            (topic, {each.part: each.run_id for each in self._run.queries if each.pipeline == topic.pipeline}) for topic in self._topics
        ]
        self._run.stop()
        for topic, queries in runs:
            topic.ended(queries, None)
            topic.close()


@contextmanager
def _running(stage: Stage) -> Iterator[Watched]:
    pipelines = Watched(stage.start(*PIPELINES), [ProgressTopic(each) for each in stage.declared(*PIPELINES)])
    try:
        yield pipelines
    finally:
        pipelines.stop()


def _await(done: Callable[[], bool], pipelines: Watched, otherwise: str) -> None:
    """A pipeline that failed ends the wait at once, with its reason."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not done():
        pipelines.watch()
        if time.monotonic() > deadline:
            raise SystemExit(f"After {PATIENCE_SECONDS:g} seconds, {otherwise}.")
        time.sleep(_POLL_SECONDS)


def _check(adds_up: bool, otherwise: str) -> None:
    if not adds_up:
        raise SystemExit(f"It does not add up: {otherwise}.")


def _acting_controller(bootstrap: str) -> int:
    """The active controller, because its loss costs the most."""
    command = [sys.executable, "-m", "barnabas", "quorum", "describe", "--json", "--bootstrap", bootstrap]
    leader: int = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["leader"]
    return leader


def _sentence(alert: dict[str, object]) -> str:
    cents, threshold = int(str(alert["cents"])), int(str(alert["threshold_cents"]))
    return f"{cents / 100:,.2f} at the {alert['shop']}, above your {threshold / 100:,.2f}"


if __name__ == "__main__":
    main()
