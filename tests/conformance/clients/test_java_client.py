"""The Java client against a Barnabas node: every claim of ``JavaClient.java``, from one JVM."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from peers.apache_kafka import java_program, why_missing
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

PROGRAM = Path(__file__).with_name("JavaClient.java")
CLAIMS = [
    *(f"records of all shapes, {codec}" for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
    *re.findall(r'claims\.put\("([^"]+)", JavaClient::', PROGRAM.read_text()),
]


@pytest.fixture(scope="module")
def failures(bootstrap: str) -> dict[str, str | None]:
    done = subprocess.run(java_program(PROGRAM, bootstrap), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["claim"]: line["failure"] for line in lines}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_java_client_confirms_a_claim(failures: dict[str, str | None], claim: str) -> None:
    assert failures[claim] is None, failures[claim]
