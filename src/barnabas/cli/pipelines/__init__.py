"""``barnabas pipelines``: :mod:`~.command` has the commands, :mod:`~.redrive` that for dead
letters.

Pipelines themselves are :mod:`barnabas.pipelines`; without its extra packages only the commands
that need no Spark work.
"""
