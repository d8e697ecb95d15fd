"""``barnabas groups``: consumer groups, their members, offsets and lag.

Read :mod:`~.command` first, then :mod:`~.description` (a group as its coordinator describes it, for
both group protocols) and :mod:`~.offsets` (committed offsets and the ends of logs). Resetting
offsets is split in two: :mod:`~.reset_target` decides the new offsets without any I/O, and
:mod:`~.reset` is the command around it.

Invariants: offsets are changed only while a group has no members, and only with ``--execute``.
Topics are named by name, since a committed offset outlives its topic.

Not here: transactions (:mod:`barnabas.cli.transactions`), and consuming records.
"""
