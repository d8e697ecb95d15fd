"""Java's producer at a topic that requires schemas."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from peers.apache_kafka import java_program, why_missing
from tests.scenarios.client import Client
from tests.scenarios.schema_validation.stage import BY_ID, Stage, stamped
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

REASON = "InvalidRecordException: the value does not name a schema"


def test_the_java_producer_names_the_bad_record_and_goes_on(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    good = stamped(stage.register(f"{topic}-value"))
    program = java_program(Path(__file__).with_name("JavaProducer.java"), stage.kafka.bootstrap, topic, good.hex())
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    steps = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    other = "KafkaException: Failed to append record because it was part of a batch which had one more more invalid records"
    assert steps["good"] == "0 | 1"
    assert steps["mixed"] == f"{other} | {REASON} | {other}"
    assert steps["bad"].startswith("InvalidRecordException: ")
    assert steps["bad"].endswith("the value does not name a schema")
    assert steps["good again"] == "2 | 3"
    assert steps["good in a transaction"] == "4"
    assert steps["bad in a transaction"].startswith("InvalidRecordException: ")
    # A marker is at offset 5.
    assert steps["good in the next transaction"] == "6"
