"""Logs and metrics of a node.

Nouns, in reading order: an *event* is one line of the log (:mod:`~.logs`); a *metric* is a name
with a unit and a meaning, declared once in :mod:`~.catalogue`; a *series* is a metric with labels,
and :mod:`~.metrics` counts it; :mod:`~.prometheus` serves the page that a scraper reads.

Invariants: counting takes no lock and no call, because it happens for every request; the thread of
the page only reads; an event is one line, whatever a client put into its values.

Not here: the values of gauges. Their owners register functions that are called on a scrape.
"""
