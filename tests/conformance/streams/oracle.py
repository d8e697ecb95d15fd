"""Kafka's classes of streams groups, asked in one process for many cases."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.apache_kafka import java_program
from tests.waiting import PATIENCE_SECONDS


def ask_kafka(cases: Sequence[Any]) -> list[Any]:
    command = java_program(Path(__file__).with_name("StreamsOracle.java"))
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers
