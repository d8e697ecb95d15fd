"""``barnabas groups``: consumer groups, their members, offsets and lag.

Read :mod:`~.command` first, then :mod:`~.description` (a group as its coordinator describes it, for
both group protocols) and :mod:`~.offsets` (committed offsets and the ends of logs). In a reset of
offsets, :mod:`~.reset_options` reads the options, :mod:`~.reset_target` decides the new offsets
without any I/O, :mod:`~.reset_plan` brings both together, and :mod:`~.reset` is the command. Groups
of other kinds use these, :mod:`~.listing`, :mod:`~.progress`, :mod:`~.deletion`,
:mod:`~.offset_deletion` and :mod:`~.tables` too.

Invariants: offsets are changed only while a group has no members, and only with ``--execute``.
Topics are named by name, since a committed offset outlives its topic.

Not here: transactions (:mod:`barnabas.cli.transactions`), and consuming records.
"""
