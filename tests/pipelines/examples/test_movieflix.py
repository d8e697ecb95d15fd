"""MovieFlix: places, profiles, recommendations and the history are those that plain Python
finds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest

from examples.movieflix.evening import catalogue, progress
from examples.movieflix.run import play, show

# Several queries, one after the other: slow on a busy machine.
pytestmark = pytest.mark.timeout(900)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from examples.stage import Stage


def test_shows_resume_at_their_positions_and_recommendations_are_new(
    stage: Stage, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    play(stage)
    places = {(each["person"], each["show"]): each["position_seconds"] for each in stage.latest("movie.resume").values()}
    assert places == {(each["person"], each["show"]): each["position_seconds"] for each in progress()}, "the last one in the order of time"
    profiles, recommended = stage.latest("movie.profiles"), stage.latest("movie.recommendations")
    for person, (seconds, favourite, begun, following) in expected_tastes().items():
        assert {genre: count for genre, count in profiles[person]["seconds"].items() if count} == seconds
        assert profiles[person]["favourite"] == recommended[person]["favourite"] == favourite
        assert set(profiles[person]["begun"]) == begun
        assert recommended[person]["show"] == following
    history = spark.read.format("delta").load(str(stage.folder / "history"))
    assert history.count() == len(progress())
    show(stage)
    assert "when people come back" in capsys.readouterr().out


def expected_tastes() -> dict[str, tuple[dict[str, int], str, set[str], str]]:
    genre_of = {each.name: each.genre for each in catalogue()}
    seconds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    begun: defaultdict[str, set[str]] = defaultdict(set)
    for each in progress():
        seconds[each["person"]][genre_of[each["show"]]] += 30
        begun[each["person"]].add(each["show"])
    found = {}
    for person, counted in seconds.items():
        favourite = min(counted, key=lambda genre: (-counted[genre], genre))
        unseen = [each for each in catalogue() if each.name not in begun[person]]
        best = min(unseen, key=lambda each: (each.genre != favourite, -each.rating))
        found[person] = dict(counted), favourite, begun[person], best.name
    return found
