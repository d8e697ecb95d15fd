"""A node seen from outside: logs, metrics and probes.

Nouns, in reading order: an *event* is one line of the log (:mod:`~.logs`, and its text in
:mod:`~.log_lines`); a *metric* is a name with a unit and a meaning, declared once in
:mod:`~.catalogue`; a *series* is a metric with labels, and :mod:`~.metrics` counts it;
:mod:`~.prometheus` makes the page that a scraper reads, and :mod:`~.docs` the one that people read;
a *push* sends the metrics to an OpenTelemetry collector (:mod:`~.otlp_push`, with its bytes from
:mod:`~.otlp_metrics` and its HTTP in :mod:`~.otlp_post`); a *probe* is a supervisor's question to a
node (:mod:`~.probes`); :mod:`~.http_server` serves page and probes.

Invariants: counting takes no lock and no call, because it happens for every request; the threads of
the pages only read; an event is one line, whatever a client put into its values; everything that an
HTTP client may send or delay has a limit.

Not here: the values of gauges. Their owners register functions that are called on a scrape.
"""
