"""Group, transaction and share coordinators: machines over the partitions of internal topics.

Nouns: a *shard* is the part of a coordinator that one partition of ``__consumer_offsets``,
``__transaction_state`` or ``__share_group_state`` holds; the leader of the partition runs it. Its
*machine* is the pure state. An *operation* on the machine returns an *outcome*: records to write,
and an answer that is sent when they are committed. A *marker* ends a transaction in one partition.

Read in this order: :mod:`.outcome` (the shape of a decision), :mod:`.runtime` (shards: loading,
writing, waiting), :mod:`.coordinator` (from an id to its shard), :mod:`.driver` and
:mod:`.topic_log` (the shell around a runtime), then the machines in :mod:`.group`,
:mod:`.transaction` and :mod:`.share`. :mod:`.marker_writer` and :mod:`.markers` carry out the end
of transactions, :mod:`.share_persister` finds the share coordinator of a share
partition, and :mod:`.share_pruning` shortens its log.
:mod:`.local_coordinators` assembles the coordinators of a node.

Invariants:

- the state of a shard is exactly what its log says, plus sessions, waiting requests and timers,
  which may be lost with the leader;
- an answer is sent only after the records behind it are committed;
- an operation runs to its end before the next one begins, so shards need no locks;
- machines never read a clock, a file or a socket: every call brings the time.

Not here: decoding of requests and error codes for clients (:mod:`barnabas.api`), appending and
replication (:mod:`barnabas.storage`, :mod:`barnabas.replication`).
"""
