"""The Java client's transactions: every claim of ``JavaTransactions.java``, from one JVM."""

from __future__ import annotations

import re

import pytest

from tests.conformance.java_groups.claims import HERE, tried

PROGRAM = HERE / "JavaTransactions.java"
CLAIMS = re.findall(r'claims\.put\("([^"]+)", ', PROGRAM.read_text())


@pytest.fixture(scope="module")
def failures(bootstrap: str) -> dict[str, str | None]:
    return tried(PROGRAM, bootstrap)


@pytest.mark.parametrize("claim", CLAIMS)
def test_claim(failures: dict[str, str | None], claim: str) -> None:
    assert failures[claim] is None, failures[claim]
