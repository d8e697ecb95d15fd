"""Spark's reports about a streaming query: one for each batch, and now and then one while it waits.

Spark keeps the last hundred. PySpark's ``recentProgress`` copies all of them, each field by a call
into the JVM: polled five times a second, that took a quarter of the JVM's processor time. So this
module reads the time of the last report, and then only the reports that are new.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def new_reports(query: StreamingQuery, after: str) -> list[dict[str, Any]]:
    """The reports with a later timestamp than ``after``, the oldest first. "" is before all."""
    of_jvm: Any = query._jsq  # noqa: SLF001 - PySpark's own properties copy every report
    last = of_jvm.lastProgress()
    if last is None or last.timestamp() <= after:
        return []
    found: list[dict[str, Any]] = []
    for report in reversed(of_jvm.recentProgress()):
        if report.timestamp() <= after:
            break
        found.append(json.loads(report.json()))
    return found[::-1]
