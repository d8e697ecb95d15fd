"""``barnabas topics``: create, list, describe, extend and delete topics.

Read :mod:`~.command` first. :mod:`~.listing` is a row of ``list``. :mod:`~.description` is the
output of ``describe``, with sizes and remote offsets from :mod:`~.sizes`;
:mod:`~.partition_health` finds unhealthy partitions for ``list`` and ``describe``;
:mod:`~.leader_election` is the command ``elect-leaders``.

Invariant: the commands work while brokers are down, and leave out the figures that only those
brokers could report.

Not here: settings (:mod:`barnabas.cli.configs`) and moves of partitions
(:mod:`barnabas.cli.reassign`).
"""
