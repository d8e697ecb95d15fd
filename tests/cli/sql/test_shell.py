"""The shell of `barnabas sql`, on a terminal of 80 columns."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from tests.waiting import PATIENCE_SECONDS, until

pytest.importorskip("duckdb", reason="pip install 'barnabas[sql]'")
pytest.importorskip("prompt_toolkit", reason="pip install 'barnabas[sql]'")
pexpect = pytest.importorskip("pexpect")

COLUMNS = 80
# Three times as many as these are rows of a cross join that takes minutes.
RECORDS = 4000


@pytest.fixture
def shell(kafka: EmbeddedBroker, tmp_path: Path) -> Iterator[Any]:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(RECORDS):
        value = {
            "status": "paid",
            "n": number % 2,
            "customer_name": "Ada Lovelace",
            "street": "12 St James's Square",
            "tags": ["a"],
        }
        producer.produce("my-topic", json.dumps(value).encode(), b"key")
    assert producer.flush(PATIENCE_SECONDS) == 0
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "barnabas", "sql", "--bootstrap", kafka.bootstrap],
            env=environment,
            dimensions=(40, COLUMNS),
            timeout=PATIENCE_SECONDS,
            encoding="utf-8",
        )
    finally:
        signal.signal(signal.SIGINT, inherited)
    child.expect("barnabas>")
    yield child
    child.close(force=True)


def test_statements_are_edited_completed_answered_and_remembered(shell: Any, tmp_path: Path) -> None:
    shell.send("\\timing\r")
    shell.expect("Timing is on")
    shell.send("SELECT count(*) AS n\r")
    shell.expect(r"\.\.\.")
    shell.send("FROM my-t\t")
    shell.expect("`my-topic`")
    shell.send(";\r")
    shell.expect(f"{RECORDS}.*1 row, by the embedded engine from 4,000 records")
    shell.send("SELECT * FROM `my-topic` LIMIT 1;\r")
    shell.expect("-- row 1(.*)1 row, by")
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in shell.match[1].splitlines()]
    assert ["customer_name", "Ada Lovelace"] in [re.split(" {2,}", line) for line in lines]
    assert max(map(len, lines)) <= COLUMNS
    shell.send("SELECT nothing FROM `my-topic`;\r")
    shell.expect("There is no column 'nothing' in topic 'my-topic'")
    shell.send(".quit\r")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0
    history = tmp_path / "barnabas" / "sql_history"
    assert "+SELECT count(*) AS n\n+FROM `my-topic`;" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def test_ctrl_c_cancels_a_query_and_ctrl_d_ends_the_shell(shell: Any) -> None:
    shell.send("SELECT sum(a.n * b.n + c.n) AS s FROM `my-topic` a, `my-topic` b, `my-topic` c;\r")

    def cancelled() -> bool:
        # Until the editor releases the terminal, Ctrl-C is a key and no signal.
        shell.sendintr()
        return bool(shell.expect(["Cancelled", pexpect.TIMEOUT], timeout=2) == 0)

    until(cancelled, "the query is cancelled")
    shell.send("SELECT 40 + 2 AS answer;\r")
    shell.expect(r"\n *42 *\r")
    shell.expect("barnabas>")
    shell.sendeof()
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0
