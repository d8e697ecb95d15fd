"""MySocialMedia: totals and trending posts are those that plain Python counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from examples.mysocialmedia.launch_day import comments, likes
from examples.mysocialmedia.run import play, show

# Several queries, one after the other: slow on a busy machine.
pytestmark = pytest.mark.timeout(900)

if TYPE_CHECKING:
    from examples.stage import Stage

MINUTE_MS = 60_000


def test_every_person_is_counted_once_and_trending_posts_are_found(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    play(stage)
    assert {post: (each["likes"], each["comments"]) for post, each in stage.latest("social.totals").items()} == expected_totals()
    found = {_ms(each["until"]): [(post["points"], post["post"]) for post in each["posts"]] for each in stage.values("social.trending")}
    assert found == expected_trending()
    assert len(stage.values("social.trending")) == len(found) >= 7, "each list is written once"
    show(stage)
    assert "trending until" in capsys.readouterr().out


def expected_totals() -> dict[str, tuple[int, int]]:
    liked = {(each["post"], each["person"]) for each in likes()}
    assert len(liked) < len(likes()), "some were pressed twice"
    by_post, commented = Counter(post for post, _ in liked), Counter(each["post"] for each in comments())
    return {post: (by_post[post], commented[post]) for post in {*by_post, *commented}}


def expected_trending() -> dict[int, list[tuple[int, str]]]:
    """For windows that had ended, including the minute for late events, at the time of the last
    event."""
    points: defaultdict[int, Counter[str]] = defaultdict(Counter)
    reactions = [(each, 1) for each in likes()] + [(each, 2) for each in comments()]
    for each, worth in reactions:
        first_end = (_ms(each["at"]) // (5 * MINUTE_MS) + 1) * 5 * MINUTE_MS
        for until in (first_end, first_end + 5 * MINUTE_MS):
            points[until][each["post"]] += worth
    seen_until = max(_ms(each["at"]) for each, _ in reactions) - MINUTE_MS
    ranked = {until: sorted(((worth, post) for post, worth in counted.items()), reverse=True) for until, counted in points.items()}
    return {until: posts[:3] for until, posts in ranked.items() if until <= seen_until}


def _ms(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)
