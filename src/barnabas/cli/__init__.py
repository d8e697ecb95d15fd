"""The command line: one module or package for each command of ``barnabas``.

Read :mod:`~.main` first: it maps command names to modules and imports only the one that is called.
A command without satellites is a module (``up``, ``server``, ``storage``, ``produce``, ``consume``,
``brokers``, ``simulate``). A command with satellites is a package, and its ``command`` module has
the options and prints the results: ``topics``, ``configs``, ``groups``, ``transactions``,
``quorum``, ``reassign``, ``perf``, ``log``, ``mirror``, ``sql``, ``pipelines``.

Shared by the commands:

- :mod:`~.errors`: ``Refused``, the one error whose text the user sees;
- :mod:`~.cluster`: connections to a cluster, through librdkafka and through requests of our own;
- :mod:`~.terminal`: tables, JSON, progress, and the notation of settings and records.

Invariants: every command has a ``register(app)``; an error is one sentence on stderr with exit code
1, never a traceback; every list can be printed as JSON; a server never loads librdkafka or tables.

Not here: everything that a node does. The commands that run nodes only parse options and call
:mod:`barnabas.node`, and pipelines run in :mod:`barnabas.pipelines`.
"""
