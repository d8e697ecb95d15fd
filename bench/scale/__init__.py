"""How the cost of a server grows with what it keeps: ``python -m bench.scale --help``.

``make bench`` compares speed at one size; the measurements here are of several sizes, so that
growth faster than the work becomes visible. They take long and have no goals, so they are no rows
of that benchmark. Results are kept in ``docs/scale.json``, from which ``docs/scale.md`` and its
figures are written; a run of some rows keeps the results of the others.

``scale_row``    what a row is
``rows``         all rows; each kind of thing has a file of its own
``kept_costs``   the results as data
``cost_charts``  the figures
``page``         the page
"""
