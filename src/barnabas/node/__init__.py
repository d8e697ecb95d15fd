"""The process: which parts a node has, and the order in which they start and stop.

Reading order:

- ``node``: a node from locked directories to "ready", and back.
- ``broker``: the parts of the broker role, made from the disk upwards.
- ``replica_events`` and ``quorum_events``: the calls from a part to the parts above it.
- ``addresses``, ``connection_limits``: listeners, and what others must know to reach them.
- ``process``, ``format``, ``initial_voters``: the command's side: settings, formatting, signals.
- ``metrics``: the values that are read when the Prometheus page is asked for.

Invariants: a part is stopped before the parts it uses. A node that cannot start raises
:class:`~barnabas.model.cannot_start.CannotStart` with one sentence, and gives everything back.

Not here: decisions, and the work of the parts. This package assembles; nothing below imports it.
"""
