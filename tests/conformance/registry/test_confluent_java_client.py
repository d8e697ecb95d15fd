"""Confluent's own Java client and serializers, unchanged, against our registry and broker."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from peers.confluent_client import confluent_program, why_confluent_is_missing
from tests.registry_process import RegistryProcess
from tests.waiting import LONG_PATIENCE_SECONDS

PROGRAM = Path(__file__).with_name("ConfluentClient.java")


@pytest.mark.skipif(why_confluent_is_missing() is not None, reason=str(why_confluent_is_missing()))
def test_every_claim_of_the_java_client_holds(registry: RegistryProcess) -> None:
    command = confluent_program(PROGRAM, registry.bootstrap, registry.url, f"java-{uuid4()}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    tried = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(tried) == PROGRAM.read_text().count("    claim(")
    assert not {each["claim"]: each["failure"] for each in tried if each["failure"] is not None}
