"""Share groups (KIP-932): members share partitions, and each record goes to one of them.

Nouns: as in consumer groups, the *group epoch* rises with every change of members, subscriptions or
topics, the *target* is the assignment for a group epoch, and the *member epoch* is the target epoch
that a member has reached. A *share partition* is one partition of a topic as one group consumes it.
The *state* of a share partition is kept by the share coordinator, which must *initialize* it before
the partition can be assigned.

Read in this order: :mod:`.member`, :mod:`.topic_states` and :mod:`.share_group` (the state),
:mod:`.share_groups` (the steps of a heartbeat), :mod:`.admission`, :mod:`.group_steps`,
:mod:`.initialization` with :mod:`.effects`, :mod:`.share_offsets`, :mod:`.share_change` with
:mod:`.records` and :mod:`.replays` (the way into the log and back), :mod:`.sessions`,
:mod:`.description` and :mod:`.settings`.

Invariants:

- only initialized partitions are assigned;
- every initialized partition of a subscribed topic belongs to at least one member;
- member epoch <= target epoch <= group epoch;
- a partition is in the log as *initializing* before the share coordinator gets the request, and as
  *deleting* before its state is deleted. A coordinator that takes over repeats either request.

Not here: the requests to the share coordinator (:mod:`barnabas.coordinators.share_states`), the
delivery of records, and the assignor (:mod:`barnabas.coordinators.group.assignors`).
"""
