"""``barnabas configs``: :mod:`~.command` has the options, :mod:`~.resources` the requests."""
