"""kill -9, at random, of every process of a pipeline: its output is complete in the end, without
duplicates.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from peers.apache_kafka import apache_kafka, why_missing
from tests.pipelines.exactly_once.tortured import Tortured
from tests.pipelines.topics import Topics

# Minutes on a small machine, so it belongs to `make soak`.
pytestmark = pytest.mark.soak

VICTIMS = ("workers", "jvm", "workers", "driver")
SOAK_ROUNDS = 50


@pytest.mark.timeout(900)
def test_kills_lose_and_duplicate_nothing(topics: Topics, tmp_path: Path, jars: list[str]) -> None:
    tortured = Tortured(topics, tmp_path, jars)
    tortured.torture(VICTIMS, random.Random())
    tortured.check_copy()
    tortured.check_totals()
    tortured.check_letters()


@pytest.mark.soak
def test_fifty_kills_lose_and_duplicate_nothing(topics: Topics, tmp_path: Path, jars: list[str]) -> None:
    tortured = Tortured(topics, tmp_path, jars, plain=True)
    chance = random.Random()
    tortured.torture(chance.choices(VICTIMS, k=SOAK_ROUNDS), chance)
    tortured.check_copy()
    tortured.check_totals()
    tortured.check_letters()
    assert tortured.rows_twice() > 0, "Spark's own sink must show what this is for, or these kills prove nothing"


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")
def test_kills_lose_and_duplicate_nothing_on_apache_kafka(tmp_path: Path, jars: list[str]) -> None:
    with apache_kafka() as (bootstrap, _), Topics(bootstrap, "kills") as topics:
        tortured = Tortured(topics, tmp_path, jars)
        chance = random.Random()
        tortured.torture(chance.choices(VICTIMS, k=10), chance)
        tortured.check_copy()
        tortured.check_totals()
        tortured.check_letters()
