"""``barnabas pipelines``: :mod:`~.command` has the commands, :mod:`~.validate` the check of files,
:mod:`~.status` the state of runs, :mod:`~.redrive` the command for dead letters.

Pipelines themselves are :mod:`barnabas.pipelines`; without its extra packages only the commands
that need no Spark work.
"""
