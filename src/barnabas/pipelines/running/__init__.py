"""Running pipelines: checks before the start, the queries, their reports, and their end.

Read :mod:`~.job` first (a run as a process), then :mod:`~.runner` (all queries of a run). Before
the start: :mod:`~.preflight` and :mod:`~.build`. During the run: :mod:`~.progress`, published by
:mod:`~.watching` to :mod:`~.live_table` and :mod:`~.progress_topic`; :mod:`~.metrics` for
Prometheus, on :mod:`~.metrics_page`; :mod:`~.heartbeat` shows that the process is alive. At the
end: :mod:`~.stop_signals`, and :mod:`~.sentences` for errors. :mod:`~.deep_check`, :mod:`~.explain`
and :mod:`~.status` are commands of their own.

Invariants: all queries of a run start, or none; when one fails, all stop; an end on request has
exit code 0; a pipeline never fails because it cannot be watched.

Not here: Spark's session (:mod:`barnabas.pipelines.session`).
"""
