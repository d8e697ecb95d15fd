"""Data pipelines on Spark: declared in a file, run on a laptop or a cluster.

    barnabas pipelines run alerts.yaml

or in code:

    from barnabas.pipelines import Pipeline

    alerts = Pipeline("alerts").source("payments", topic="payments", schema="account STRING, amount DOUBLE")
    alerts.step("large", sql="SELECT * FROM payments WHERE amount > 100").sink("out", from_="large", topic="alerts")
    alerts.run()

Importing this needs neither PySpark nor Java; running does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import CannotRun, DeclarationError, PipelineError, RunFailed

if TYPE_CHECKING:
    from barnabas.pipelines.pipeline import Pipeline

__all__ = ["Pipeline", "PipelineError", "DeclarationError", "CannotRun", "RunFailed"]


def __getattr__(name: str) -> Any:
    if name == "Pipeline":
        from barnabas.pipelines.pipeline import Pipeline

        return Pipeline
    raise AttributeError(name)
