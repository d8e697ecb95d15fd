"""Brokers under mixed load lose nothing and grow in nothing."""

from __future__ import annotations

import random

import pytest

from tests.cluster.endurance import PATIENT, endured

HOUR_SECONDS = 3600.0


@pytest.mark.timeout(900)
def test_brokers_under_mixed_load_lose_nothing() -> None:
    endured(chapters=1, deeds_per_chapter=2, seed=3)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_brokers_under_mixed_load_lose_nothing_and_do_not_grow_in_an_hour() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    endured(chapters=4, deeds_per_chapter=6, seed=seed, seconds_min=HOUR_SECONDS, timeouts=PATIENT)
