"""The day of the launch: a few posts, many likes and comments, more by the minute.

Deterministic: a seed fixes a day. People like a post twice when the button seems slow, so likes
count once for each person. The most discussed posts change every ten minutes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

LAUNCH = datetime(2030, 3, 1, 9, 0, tzinfo=UTC)
POSTS = 12
PEOPLE = 300
MINUTES = 40
FASHION_MINUTES = 10


def posts(*, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {"post": f"post-{number}", "author": f"person-{chance.randrange(PEOPLE)}", "text": f"Hello {number}"} for number in range(POSTS)
    ]


def likes(*, seed: int = 2) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    found = []
    for at, post in _attention(chance, growth=2.0):
        like = {"post": post, "person": f"person-{chance.randrange(PEOPLE)}", "at": at}
        found += [like, like] if chance.random() < 0.1 else [like]
    return found


def comments(*, seed: int = 3) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {"post": post, "person": f"person-{chance.randrange(PEOPLE)}", "text": f"comment {number}", "at": at}
        for number, (at, post) in enumerate(_attention(chance, growth=0.5))
    ]


def _attention(chance: random.Random, *, growth: float) -> Iterator[tuple[str, str]]:
    """Times and posts, in the order of time; minute m has about m times ``growth`` of them."""
    for minute in range(MINUTES):
        fashionable = [f"post-{(minute // FASHION_MINUTES * 3 + each) % POSTS}" for each in range(3)]
        seconds = sorted(chance.randrange(60_000) for _ in range(round(minute * growth) + 1))
        for millisecond in seconds:
            # The first post in fashion gets more likes than the second, so that the ranking is
            # unambiguous.
            post = chance.choices(fashionable, (6, 3, 2))[0] if chance.random() < 0.7 else f"post-{chance.randrange(POSTS)}"
            moment = LAUNCH + timedelta(minutes=minute, milliseconds=millisecond)
            yield moment.isoformat(timespec="milliseconds"), post
