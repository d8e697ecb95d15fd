"""Java programs that try claims and print the result of each."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from peers.apache_kafka import java_program
from tests.waiting import LONG_PATIENCE_SECONDS

HERE = Path(__file__).parent


def tried(program: Path, *arguments: str) -> dict[str, str | None]:
    """By claim: None, or the reason why it does not hold."""
    done = subprocess.run(java_program(program, *arguments), capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["claim"]: line["failure"] for line in lines}
