"""``barnabas sql``: :mod:`~.command` has the options, :mod:`~.rows` prints the answer.

Queries are answered by :mod:`barnabas.pipelines.sql`.
"""
