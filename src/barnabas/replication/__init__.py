"""The replicas on this node: the work of a leader and of a follower, and its shells.

Read in this order:

    partition         Partition: one replica, its log, and what changes it
    role              Role: leader or follower, from the metadata
    commit_progress   CommitProgress: the high watermark, and the requests that wait for it
    health            ReplicaHealth: corruption, a truncation not yet durable, a move in progress
    leadership, isr, progress
                      a leader: its followers' progress, and the in-sync replicas
    following, follower_fetch, leader_session
                      a follower: its next fetch, its appends and truncations (pure)
    reads, fetch_sessions, waiting_fetch, read_replicas
                      fetches of clients and followers: the bounds, the session, the wait for more
    verification      proof that a transaction may begin in a partition (KIP-890)
    throttle, topic_counters
                      limits on replication; counters that the partitions of a topic share
    future_replica    a copy of a log on its way to another directory
    local_replicas, cluster_view, other_brokers
                      all replicas of this node; their view of the cluster; its other brokers
    publisher         ReplicaPublisher: creates logs, changes roles and removes logs by the metadata
    fetchers          ReplicaFetchers: the connections to leaders
    isr_reports       IsrReports: proposes changes of in-sync replicas to the controller
    acknowledgement_watch
                      logs acknowledgements that wait for long

Invariants:

- The high watermark of a leader never falls, and is at or below the end offset of every replica of
  the maximal ISR.
- A follower fetches from its end offset, which acknowledges everything below. It truncates by
  leader epoch, where its leader's log diverges.
- A partition has at most one ISR change in flight.
- Only the loop's thread changes a partition.

Not here: the log on disk (``storage``), the election of leaders (``controller``), and the handlers
of Produce and Fetch (``api``).
"""
