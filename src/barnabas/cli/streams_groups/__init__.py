"""``barnabas streams-groups``: groups of Kafka Streams applications, their tasks, topology, offsets
and lag.

Read :mod:`~.command` first, then :mod:`~.description` (a group as its coordinator describes it) and
:mod:`~.tables`. Offsets, lag, resets and deletions are those of :mod:`barnabas.cli.groups`.

Invariants: offsets are changed only while a group has no members, and only with ``--execute``.
Internal topics are deleted only if the user asks for it.

Not here: running applications, which is the Java library's work.
"""
