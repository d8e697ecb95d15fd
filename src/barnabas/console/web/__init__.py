"""The web around operations, with nothing of Kafka in it.

Read :mod:`~.operation` first, then :mod:`~.parameters` and :mod:`~.call`. :mod:`~.router` finds the
operation of a path, :mod:`~.bodies` reads requests, :mod:`~.json_values` and :mod:`~.openapi` make
JSON and its description, :mod:`~.pages` and :mod:`~.words` make pages. Access is in
:mod:`~.sessions`, :mod:`~.signing`, :mod:`~.hosts`, :mod:`~.access_rules` and :mod:`~.audit`.
"""
