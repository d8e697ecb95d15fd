"""The reason why the embedded engine leaves a query to Spark."""

from __future__ import annotations

# The messages of DuckDB's error() that our own SQL raises begin with one of these.
LEAVE_TO_SPARK = "barnabas-leave-to-spark: "
QUERY_FAILS = "barnabas-query-fails: "


class NotProven(Exception):
    """The text completes the sentence "The embedded engine cannot answer this query: ..."."""
