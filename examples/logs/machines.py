"""Three services that log lines of text, and two hosts that report metrics.

Deterministic: a seed fixes a quarter of an hour. In minutes 5 and 6 the worker fails a lot. Now and
then a line is not a log line at all: a stack trace, a progress bar.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

BEGIN = datetime(2030, 4, 2, 10, 0, tzinfo=UTC)
SERVICES = ("web", "api", "worker")
HOSTS = ("alpha", "beta")
MINUTES = 10
BAD_MINUTES = (5, 6)
BAD_SERVICE = "worker"
LINES_PER_MINUTE = 40


def lines(service: str, *, seed: int = 1) -> list[str]:
    chance = random.Random(f"{seed} {service}")
    found = []
    for minute in range(MINUTES):
        failing = 0.5 if service == BAD_SERVICE and minute in BAD_MINUTES else 0.04
        for second in sorted(chance.randrange(60) for _ in range(LINES_PER_MINUTE)):
            level = "ERROR" if chance.random() < failing else chance.choice(("INFO", "INFO", "WARN"))
            at = (BEGIN + timedelta(minutes=minute, seconds=second)).isoformat()
            found.append(f"{at} {level} {service} {round(chance.lognormvariate(3, 1))}ms handled request {chance.randrange(10**6)}")
        if chance.random() < 0.3:
            found.append("Traceback (most recent call last):")
    return found


def measurements(*, seed: int = 2) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {"host": host, "name": name, "value": chance.randrange(100), "at": (BEGIN + timedelta(seconds=second)).isoformat()}
        for second in range(0, MINUTES * 60, 5)
        for host in HOSTS
        for name in ("cpu", "disk")
    ]
