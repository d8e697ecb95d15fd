"""``barnabas tokens``: :mod:`~.command` has the options, :mod:`~.requests` the requests."""
