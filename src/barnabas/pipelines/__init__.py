"""Data pipelines on Spark: declared in a file, run on a laptop or a cluster.

    barnabas pipelines run alerts.yaml

or in code:

    from barnabas.pipelines import Pipeline

    alerts = Pipeline("alerts")
    alerts.source("payments", topic="payments", schema="account STRING, amount DOUBLE")
    alerts.step("large", sql="SELECT * FROM payments WHERE amount > 100")
    alerts.sink("out", from_="large", topic="alerts")
    alerts.run()

Importing this needs neither PySpark nor Java; running does.

Nouns, in reading order: a *declaration* is a checked file or :class:`Pipeline`
(:mod:`~.declaration`, :mod:`~.pipeline`); a *kind* is a module for one sort of source, step, sink
or format (:mod:`~.kinds`, then :mod:`~.sources`, :mod:`~.steps`, :mod:`~.sinks`, :mod:`~.formats`);
a *run* (:mod:`~.context`, :mod:`~.running`) builds frames and starts one query for each sink.
Beside them: :mod:`~.exactly_once` (transactions into topics), :mod:`~.schema_changes` (columns that
change), :mod:`~.dead_letters` with :mod:`~.redrive`, :mod:`~.mirror` (cluster to cluster),
:mod:`~.sql` (queries over topics) and :mod:`~.registered` (schemas of a registry as columns).
:mod:`~.session` starts Spark.

Invariants: this package meets a broker only over the wire, and imports nothing of the node; PySpark
is imported inside functions; an error is one sentence (:mod:`~.errors`), with file and line where a
declaration is at fault; a checkpoint is never changed except by Spark and by the texts kept beside
it (:mod:`~.kept_text`).

Not here: commands (:mod:`barnabas.cli.pipelines`, ``mirror`` and ``sql`` beside it).
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
