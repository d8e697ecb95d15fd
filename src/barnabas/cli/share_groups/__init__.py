"""``barnabas share-groups``: share groups, their members, offsets and lag.

Read :mod:`~.command` first, then :mod:`~.description` (a group as its coordinator describes it),
:mod:`~.offsets` (start offsets and lag) and :mod:`~.deliveries` (records between delivery and
acknowledgement). :mod:`~.reset` changes offsets, and :mod:`~.dead_letters` lists rejected records.
Options, plans and tables are those of :mod:`barnabas.cli.groups`.

Invariants: offsets are changed only while a group has no members, and only with ``--execute``.

Not here: consuming records (:mod:`barnabas.cli.consume`).
"""
