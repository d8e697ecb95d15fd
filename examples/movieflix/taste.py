"""Profiles of people, and recommendations for them: frames in, frames out.

They can be tried on any frame with these columns. The catalogue is small and changes with releases,
so it is a file that the pipeline reads when it starts. Data that changes by the minute would be a
topic, declared as a table.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the usual name in PySpark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# A report represents the half minute before it.
REPORT_SECONDS = 30
CATALOGUE = Path(__file__).with_name("catalogue.csv")


def profiles(progress: DataFrame) -> DataFrame:
    """Seconds by genre, the favourite genre and the shows begun, for each person."""
    genre_of = _literal_map({row["show"]: F.lit(row["genre"]) for row in _catalogue()})
    genres = sorted({row["genre"] for row in _catalogue()})
    watched = progress.withColumn("genre", genre_of[F.col("show")])
    seconds = [F.coalesce(F.sum(F.when(F.col("genre") == genre, REPORT_SECONDS)), F.lit(0)).alias(genre) for genre in genres]
    counted = watched.groupBy("person").agg(*seconds, F.sort_array(F.collect_set("show")).alias("begun"))
    # The genre with the most seconds; of several, the first by name.
    most = F.greatest(*(F.col(f"`{genre}`") for genre in genres))
    favourite = F.coalesce(*(F.when(F.col(f"`{genre}`") == most, F.lit(genre)) for genre in genres))
    return counted.select(
        "person", favourite.alias("favourite"), F.struct(*(F.col(f"`{genre}`") for genre in genres)).alias("seconds"), "begun"
    )


def recommendations(profiles: DataFrame) -> DataFrame:
    """The best rated show of the favourite genre that the person has not begun.

    When none is left, the best rated of all genres.
    """
    best_first = [row["show"] for row in sorted(_catalogue(), key=lambda row: -float(row["rating"]))]
    by_genre = {genre: [] for genre in sorted({row["genre"] for row in _catalogue()})}  # type: dict[str, list[str]]
    for row in sorted(_catalogue(), key=lambda row: -float(row["rating"])):
        by_genre[row["genre"]].append(row["show"])
    shelves = _literal_map({genre: _texts(shows) for genre, shows in by_genre.items()})
    candidates = F.concat(shelves[F.col("favourite")], _texts(best_first))
    unseen = F.filter(candidates, lambda show: ~F.array_contains(F.col("begun"), show))
    return profiles.select("person", "favourite", F.get(unseen, F.lit(0)).alias("show"))


def _catalogue() -> list[dict[str, str]]:
    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _texts(values: list[str]) -> Column:
    return F.array(*(F.lit(value) for value in values))


def _literal_map(values: dict[str, Column]) -> Column:
    return F.create_map(*(part for key, value in values.items() for part in (F.lit(key), value)))
