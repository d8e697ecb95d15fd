"""The group coordinator: membership, assignments and committed offsets. Pure.

Nouns: a *group* has members of the *classic* protocol (JoinGroup, SyncGroup) or of the *consumer*
protocol (KIP-848), or it is a *share group* (KIP-932) or a *streams group* (KIP-1071). A *simple
group* has only offsets. A *shard* holds all groups of one partition of ``__consumer_offsets``; its
parts are the kinds of groups, and offsets.

Read in this order: :mod:`.group` (the interface of all groups), :mod:`.shard` and :mod:`.machine`
(the parts together), :mod:`.offsets` with :mod:`.offset_table`, :mod:`.pending_offsets`,
:mod:`.offset_expiry` and :mod:`.commit_permission`, then the packages :mod:`.classic`,
:mod:`.consumer`, :mod:`.share` and :mod:`.streams`, and :mod:`.assignors`. :mod:`.metadata_hash`,
:mod:`.assignment_interval`, :mod:`.bounded_setting`, :mod:`.topic_partitions`, :mod:`.refusal` and
:mod:`.targeted_groups` serve all groups with assignments from the coordinator.
:mod:`.prepared_commit` only makes repeated commits faster.

Invariants:

- a group id belongs to one group of one kind at a time;
- every group with an offset exists, if only as a simple group;
- a transactional commit counts from its marker on, and commits are ordered by their position in
  the log;
- state changes only by the replay of records, except sessions, waiting requests and timers.

Not here: writing and loading of the log (:mod:`barnabas.coordinators.runtime`), the existence of
topics and partitions, which the API handlers check.
"""
