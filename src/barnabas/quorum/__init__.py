"""The metadata quorum of this node: Kafka's Raft around ``__cluster_metadata-0``.

Every controller is a voter or may become one; every broker is an observer. Read in this order:

    core          the state machine (pure): events in, effects out
    driver        QuorumDriver: performs the effects in order, and turns requests, responses,
                  flushes and timers into events
    listener      QuorumListener: the calls from the quorum upwards, implemented in ``node``
    metadata_log  MetadataLog: the log, its snapshots and ``quorum-state`` on disk, in Kafka's files
    delivery      MetadataDelivery: committed batches on their way to the metadata applier
    snapshots     Snapshots: writes a snapshot when the log has grown enough
    identity      the core of this node, built from its settings
    status        QuorumStatus: the leader, the voters and their progress
    description   the response to DescribeQuorum, from the status

Invariants:

- Effects are performed in order, and one that fails ends the node.
- A batch counts only when it is flushed: the offset of a voter's fetch is its acknowledgement.
- The applier gets each committed batch once and in order.

Not here: the contents of the records (``metadata``) and the decisions that write them
(``controller``). ``docs/formats.md`` describes the files.
"""
