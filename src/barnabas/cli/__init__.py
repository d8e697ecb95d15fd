"""The command line: one module or package for each command of ``barnabas``.

Read :mod:`~.main` first: it maps command names to modules and imports only the one that is called.
A command without satellites is a module (``up``, ``server``, ``storage``, ``brokers``,
``simulate``). A command with satellites is a package, and its ``command`` module has the options
and prints the results: ``topics``, ``configs``, ``produce``, ``consume``, ``groups``,
``transactions``, ``acls``, ``quotas``, ``users``, ``tokens``, ``quorum``, ``reassign``, ``perf``,
``log``, ``mirror``,
``sql``, ``pipelines``, ``console``, and ``profiles`` for ``barnabas profile``.

Shared by the commands:

- :mod:`~.summaries`: a line of help for each command, so that ``barnabas --help`` imports none;
- :mod:`~.plain_values`: converts the values of options without pydantic where that is simple;
- :mod:`~.errors`: ``Refused``, the one error whose text the user sees;
- :mod:`~.cluster`: connections to a cluster, through librdkafka and through requests of our own;
- :mod:`~.terminal`: tables, JSON, progress, and the notation of settings and records.

Invariants: every command has a ``register(app)``; an error is one sentence on stderr with exit code
1, never a traceback; every list can be printed as JSON; a server never loads librdkafka or tables,
and no command loads what it does not need (tests/cli/test_start_up.py).

Not here: everything that a node does. The commands that run nodes only parse options and call
:mod:`barnabas.node`, and pipelines run in :mod:`barnabas.pipelines`.
"""
