"""Streams groups (KIP-1071): the coordinator assigns tasks of a Streams application to its threads.

Nouns: a *topology* has *subtopologies*, each with source topics, *internal topics* (repartition
topics and changelogs) and *tasks*, one for each partition. A *member* is a thread of a *process*.
The *group epoch* rises with every change of members, topology, topics or assignment settings. The
*target* is the assignment for a group epoch, and *reconciliation* moves a member from the tasks
that it owns to its target. A *status* reports a condition such as missing topics.

Read in this order: :mod:`.tasks`, :mod:`.member`, :mod:`.topology` and :mod:`.streams_group` (the
state), :mod:`.streams_groups` (the steps of a heartbeat), :mod:`.admission`,
:mod:`.partition_counts` with :mod:`.visit_order` and :mod:`.configured_topology` (from topics to
tasks), :mod:`.rebalancing` with :mod:`.sticky_assignor`, :mod:`.process_load` and
:mod:`.sticky_changes`, :mod:`.reconciliation`, :mod:`.group_change` with :mod:`.records`,
:mod:`.topology_forms` and :mod:`.replays` (the way into the log and back), :mod:`.deadlines` and
:mod:`.settings`, and for responses :mod:`.heartbeat_response`, :mod:`.statuses`, :mod:`.endpoints`
and :mod:`.description`.

Invariants:

- an active task runs in at most one process: a member gets it only after the previous owner revoked
  it;
- a process never has two copies of a task;
- member epoch <= target epoch <= group epoch;
- an operation never changes a group; it builds a :class:`~.group_change.GroupChange`, whose records
  change the group when they are replayed.

Not here: the creation of internal topics, which the broker that got the heartbeat does on behalf of
the client (:mod:`barnabas.controller.streams_topics`).
"""
