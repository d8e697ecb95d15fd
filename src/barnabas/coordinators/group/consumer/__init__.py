"""Consumer groups (KIP-848): the coordinator assigns, and members follow with heartbeats.

Nouns: the *group epoch* rises with every change of members, subscriptions or topics. The *target*
is the assignment for a group epoch. The *ownership* of a member is the partitions it has, and the
*member epoch* is the target epoch it has reached. *Reconciliation* moves a member from its
ownership to its target. A *classic member* uses JoinGroup in a consumer group.

Read in this order: :mod:`.member`, :mod:`.interests` and :mod:`.consumer_group` (the state),
:mod:`.consumer_groups` (the steps of a heartbeat), :mod:`.admission`, :mod:`.visible_topics`,
:mod:`.group_steps` with :mod:`.target` and :mod:`.reconciliation`, :mod:`.group_change` with
:mod:`.records` and :mod:`.replays` (the way into the log and back), :mod:`.rebalancing` and
:mod:`.deadlines`. Then :mod:`.classic_members`, :mod:`.embedded_protocol` and :mod:`.migration`,
which connect both protocols.

Invariants:

- a partition has at most one owner: a member gets it only after the previous owner revoked it;
- member epoch <= target epoch <= group epoch;
- an operation never changes a group; it builds a :class:`~.group_change.GroupChange`, whose records
  change the group when they are replayed.

Not here: the algorithms of assignment (:mod:`barnabas.coordinators.group.assignors`).
"""
