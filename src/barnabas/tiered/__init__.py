"""Tiered storage of this broker: closed segments move to a remote store, and are read there.

Read in this order:

    remote_log        RemoteLog: which partitions are tiered, and the work for each; the way in
    metadata          the list of everything remote, kept in ``__remote_log_metadata``
    store             the remote store as a port, and its implementations
    tiered_partition  TieredPartition: one partition's catalogue, and its consequences for the log
    leader_task       LeaderTask: the leader copies segments and deletes expired ones
    copy_plan, segment_copy
                      which segment is copied next (pure), and its copy
    expiry_plan       which remote segments expire, and where the log begins then (pure)
    reading           reads of remote offsets
    follower_start, aux_state
                      a follower that begins where its leader's local log begins
    removals, leftovers
                      the deletion of all remote data of a partition, also after a crash
    remote_storage, workers, quota, retries, remote_metrics
                      what the tasks share

Invariants:

- A segment is remote once COPY_SEGMENT_FINISHED is committed and read back. Only then may its local
  files go.
- An upload has a name of its own. An event is written before the step that it announces, so that
  another broker can finish or undo an interrupted one.
- The log start offset is durable before the first remote segment below it is deleted.
- Only worker threads wait for the store, and nothing local waits for them.

Not here: the local log and its retention (``storage``, ``logcare``), and the responses to clients
(``api``). ``docs/tiered_storage.md`` describes the feature for users.
"""
