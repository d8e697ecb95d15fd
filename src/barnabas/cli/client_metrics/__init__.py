"""``barnabas client-metrics``: :mod:`~.command` has the options, :mod:`~.requests` the requests."""
