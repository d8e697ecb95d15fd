"""Assignors of consumer groups and share groups: from subscriptions and partitions to target
assignments.

Nouns: a *subscriber* is a member with its topics and its previous target. An *assignor* is a pure
function over all subscribers. :data:`ASSIGNORS` has those of consumer groups by name, as
``group.consumer.assignors`` and members name them. Share groups have one, ``simple``.

Read in this order: :mod:`.assignor` (input and output), :mod:`.range_assignor`,
:mod:`.uniform_assignor`, :mod:`.simple_assignor`.

Invariants: every partition of a subscribed topic goes to exactly one of its subscribers, in share
groups to at least one, and the same input always gives the same assignment.

Not here: epochs, and the order of revocation and assignment, which reconciliation decides.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinators.group.assignors.assignor import Assignor
from barnabas.coordinators.group.assignors.range_assignor import assign_range
from barnabas.coordinators.group.assignors.uniform_assignor import assign_uniform

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
