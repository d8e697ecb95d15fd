"""``barnabas perf``: :mod:`~.command` runs the load, :mod:`~.measurements` computes the figures."""
