"""The Java client's consumers in groups: every claim of ``JavaGroups.java``, from one JVM."""

from __future__ import annotations

import re

import pytest

from tests.conformance.java_groups.claims import HERE, tried

PROGRAM = HERE / "JavaGroups.java"
_SOURCE = PROGRAM.read_text()
CLAIMS = [
    *(f"{name}, {protocol}" for name in re.findall(r'both\("([^"]+)", JavaGroups::', _SOURCE) for protocol in ("classic", "consumer")),
    *re.findall(r'claims\.put\("([^"]+)", JavaGroups::', _SOURCE),
]


@pytest.fixture(scope="module")
def failures(bootstrap: str) -> dict[str, str | None]:
    return tried(PROGRAM, bootstrap)


@pytest.mark.parametrize("claim", CLAIMS)
def test_claim(failures: dict[str, str | None], claim: str) -> None:
    assert failures[claim] is None, failures[claim]
