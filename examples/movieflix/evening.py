"""An evening of people who watch: every half a minute each player reports its show and position.

Deterministic: a seed fixes an evening. People have a genre they prefer, jump back now and then, and
leave shows unfinished.
"""

from __future__ import annotations

import csv
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

EVENING = datetime(2030, 11, 2, 20, 0, tzinfo=UTC)
PEOPLE = 25
REPORT_SECONDS = 30
REPORTS = 24


class Show(NamedTuple):
    name: str
    genre: str
    rating: float


def catalogue() -> list[Show]:
    with Path(__file__).with_name("catalogue.csv").open(encoding="utf-8", newline="") as file:
        return [Show(row["show"], row["genre"], float(row["rating"])) for row in csv.DictReader(file)]


def progress(*, seed: int = 1) -> list[dict[str, Any]]:
    chance, shows = random.Random(seed), catalogue()
    genres = sorted({show.genre for show in shows})
    likes = {person: chance.choice(genres) for person in range(PEOPLE)}
    watching: dict[int, tuple[str, int]] = {}
    found = []
    for report in range(REPORTS):
        for person in range(PEOPLE):
            if person not in watching or chance.random() < 0.15:
                preferred = [show for show in shows if show.genre == likes[person]]
                watching[person] = chance.choice(preferred if chance.random() < 0.7 else shows).name, 0
            show, position = watching[person]
            position = max(0, position + (REPORT_SECONDS if chance.random() < 0.9 else -120))
            watching[person] = show, position
            at = EVENING + timedelta(seconds=report * REPORT_SECONDS, milliseconds=person)
            found.append(
                {"person": f"person-{person}", "show": show, "position_seconds": position, "at": at.isoformat(timespec="milliseconds")}
            )
    return found
