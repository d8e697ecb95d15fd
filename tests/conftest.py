"""Hypothesis generates the same examples every time and has no deadlines, because a busy machine is
slow without being wrong. Every Spark starts with the options of ``spark/spark-defaults.conf``.

Tests with settings of their own inherit everything else from here.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark"))

# New objects between two collections, of which Python makes one every 700. A run has thousands of
# tests, and each collection of the oldest generation would visit all of them.
_OBJECTS_BETWEEN_COLLECTIONS = 20_000


def pytest_collection_finish() -> None:
    """The tests live until the end of the run, so no collection has to look at them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
