"""Classic groups: members agree on a protocol, and their leader assigns.

Nouns: a *generation* is one agreement of the members; a *rebalance* leads to the next one, in a
join phase and a sync phase. The *leader* is a member and computes the assignments. A *static
member* has an instance id and keeps its place across restarts. A *pending* member id was given out
and has not joined yet.

Read in this order: :mod:`.state` (the table of transitions), :mod:`.classic_group` and
:mod:`.classic_member` (the state), :mod:`.classic_groups` (the requests), :mod:`.joining`,
:mod:`.syncing` and :mod:`.leaving`, then :mod:`.rebalancing`, to which all of them lead.
:mod:`.group_records` converts a group to its record and back.

Invariants:

- the log has a group as it last was Stable or Empty;
- the leader is a member, and an instance id belongs to exactly one member;
- a response with an assignment is sent only after the assignment is committed.

Not here: classic members of consumer groups, which
:mod:`barnabas.coordinators.group.consumer.classic_members` serves.
"""
