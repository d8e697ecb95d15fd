"""``barnabas sql``: a query, a stream, a shell or a pipe of statements.

:mod:`~.command` has the options. :mod:`~.sql_session` answers one statement after another and
:mod:`~.rows` prints the answers. :mod:`~.statements` splits input at semicolons; the shell
(:mod:`~.shell`) has commands of its own (:mod:`~.shell_commands`), a history and completion
(:mod:`~.completion`, with the names from :mod:`~.catalog`).

Invariants: Spark starts at most once, and only for a query that needs it; Ctrl-C ends a query, not
the shell; prompt_toolkit is imported by the shell alone.

Queries are answered by :mod:`barnabas.pipelines.sql`.
"""
