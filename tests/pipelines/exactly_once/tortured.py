"""A pipeline that is killed again and again while records arrive, and the check of its output.

One pipeline with several sinks, so that every kill meets all of them: a copy of each record,
running totals per account, and, on request, a copy through Spark's own sink, which shows the
duplicates that the other two avoid.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.pipelines.exactly_once.pipeline_process import PipelineProcess
from tests.pipelines.topics import Topics
from tests.waiting import LONG_PATIENCE_SECONDS, until

ACCOUNTS = 11
PARTITIONS = 3
# Many small batches, so that a kill meets one in progress; the rest at the end is processed without
# the limit.
ROWS_PER_BATCH_MAX = 100
BATCHES_PER_KILL = 12
ROWS_PER_BAD_RECORD = 25

_PIPELINE = """
name: tortured
bootstrap: {bootstrap}
spark: {{{spark}}}
sources:
  payments: {{topic: {source}, format: json, schema: "account STRING, number INT", dead_letters: {{topic: {letters}}}{rate}}}
steps:
  - {{view: totals, sql: "SELECT account, count(*) AS rows, sum(number) AS total FROM payments GROUP BY account"}}
sinks:
  copy:   {{from: payments, topic: {copy}, key: account, guarantee: exactly_once}}
  totals: {{from: totals, topic: {totals}, key: account, mode: update, guarantee: exactly_once, options: {{writers: 2}}}}
"""
_WRITTEN = ("copy", "totals", "plain", "letters")
_PLAIN = """
  plain:  {{from: payments, topic: {plain}, key: account, guarantee: at_least_once}}
"""
_SPARK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.sql.streaming.pollingDelay": "10ms",
    # Keep the plans of all batches, so that the expected output of each can be computed afterwards.
    "spark.sql.streaming.minBatchesToRetain": "1000000",
}


class Tortured:
    def __init__(self, topics: Topics, folder: Path, jars: Iterable[str], *, plain: bool = False) -> None:
        self.topics, self.folder = topics, folder
        self.source = topics.create("in", partitions=PARTITIONS)
        self.copy, self.totals, self.plain, self.letters = (topics.create(name, partitions=2) for name in _WRITTEN)
        self.sinks = ("copy", "totals", "payments.dead_letters", *(["plain"] if plain else []))
        self.spark = {**_SPARK, "spark.jars.packages": "", "spark.jars": ",".join(jars), "spark.local.dir": str(folder / "local")}
        self.file = self._write("tortured.yaml", rate=f", rate: {ROWS_PER_BATCH_MAX}")
        self.hurried = self._write("hurried.yaml", rate="")
        self.checkpoint = str(folder / "checkpoints")
        self.sent = 0

    def _write(self, name: str, *, rate: str) -> Path:
        text = (_PIPELINE + _PLAIN if "plain" in self.sinks else _PIPELINE).format(
            bootstrap=self.topics.bootstrap,
            spark=", ".join(f"{name}: '{value}'" for name, value in self.spark.items()),
            rate=rate,
            **{name: getattr(self, name) for name in ("source", *_WRITTEN)},
        )
        path = self.folder / name
        path.write_text(text)
        return path

    def torture(self, victims: Iterable[str], chance: random.Random) -> None:
        """Each victim is killed in the middle of the work. Then the pipeline runs undisturbed until
        it has processed everything."""
        process: PipelineProcess | None = None
        with ExitStack() as at_end:
            for victim in victims:
                self.send(BATCHES_PER_KILL * ROWS_PER_BATCH_MAX)
                process = process or at_end.enter_context(PipelineProcess(self.folder, self.command()))
                self.await_progress(process)
                time.sleep(chance.uniform(0, 1.5))
                process.kill(victim)
                if victim != "workers":
                    process.await_end()
                    process = None
        with PipelineProcess(self.folder, self.command("--available-now", file=self.hurried)) as last:
            assert last.wait(LONG_PATIENCE_SECONDS) == 0, last.output()

    def command(self, *options: str, file: Path | None = None) -> list[str]:
        # Tasks are tried eight times, so that a killed worker does not end the driver.
        where = ("--checkpoint", self.checkpoint, "--master", "local[2,8]")
        return [sys.executable, "-m", "barnabas", "pipelines", "run", str(file or self.file), *where, *options]

    def send(self, count: int) -> None:
        rows = [{"account": f"account {each % ACCOUNTS}", "number": each} for each in range(self.sent, self.sent + count)]
        # Now and then an undecodable record among the others.
        for first in range(0, count, ROWS_PER_BAD_RECORD):
            self.topics.send(self.source, rows[first : first + ROWS_PER_BAD_RECORD], key="account")
            self.topics.send(self.source, [f"bad {self.sent + first}".encode()])
        self.sent += count

    def await_progress(self, process: PipelineProcess) -> None:
        before = self._batches_done()

        def all_went_on() -> bool:
            assert process.is_alive(), process.output()
            return all(now > then for now, then in zip(self._batches_done(), before, strict=True))

        # Every sink commits a batch after a kill, so that the next kill meets all of them at work.
        until(all_went_on, "every sink commits a batch", seen=process.output, seconds_max=LONG_PATIENCE_SECONDS)

    def _batches_done(self) -> list[int]:
        commits = (Path(self.checkpoint, "tortured", sink, "commits") for sink in self.sinks)
        return [max((int(path.name) for path in folder.glob("[0-9]*")), default=-1) for folder in commits]

    # -- the account --------------------------------------------------------------------------

    def check_copy(self) -> None:
        found: dict[str, list[int]] = {}
        for row in self.topics.values(self.copy):
            found.setdefault(row["account"], []).append(row["number"])
        assert found == {f"account {each}": list(range(each, self.sent, ACCOUNTS)) for each in range(ACCOUNTS)}, "each once, and in order"

    def check_totals(self) -> None:
        found = Counter((row["account"], row["rows"], row["total"]) for row in self.topics.values(self.totals))
        assert found == Counter(self._expected_totals())

    def check_letters(self) -> None:
        """Each undecodable record has one letter."""
        positions = ("topic", "partition", "offset")
        found = Counter(
            tuple(letter.headers[f"barnabas.dead_letter.{name}"].decode() for name in positions)
            for letter in self.topics.read(self.letters)
        )
        bad = [each for each in self.topics.read(self.source) if each.value is not None and each.value.startswith(b"bad")]
        assert bad
        assert found == Counter((self.source, str(each.partition), str(each.offset)) for each in bad)

    def rows_twice(self) -> int:
        """The duplicates of the plain sink. No row may be missing there either."""
        found = Counter(row["number"] for row in self.topics.values(self.plain))
        assert set(found) == set(range(self.sent))
        return sum(count - 1 for count in found.values())

    def _expected_totals(self) -> Iterator[tuple[str, int, int]]:
        """The expected totals of each batch, from the records that Spark planned for it."""
        partitions: dict[int, list[tuple[str, int] | None]] = {each: [] for each in range(PARTITIONS)}
        for record in self.topics.read(self.source):
            assert record.value is not None
            row = record.json if record.value.startswith(b"{") else None
            partitions[record.partition].append(None if row is None else (row["account"], row["number"]))
        rows, totals = Counter[str](), Counter[str]()
        position = dict.fromkeys(partitions, 0)
        plans = Path(self.checkpoint, "tortured", "totals", "offsets").glob("[0-9]*")
        for path in sorted(plans, key=lambda each: int(each.name)):
            (ends,) = json.loads(path.read_text().splitlines()[-1]).values()
            met = set()
            for partition, end in ends.items():
                for account, number in filter(None, partitions[int(partition)][position[int(partition)] : end]):
                    rows[account] += 1
                    totals[account] += number
                    met.add(account)
                position[int(partition)] = end
            yield from ((account, rows[account], totals[account]) for account in met)
        assert position == {each: len(records) for each, records in partitions.items()}, "all was read"
