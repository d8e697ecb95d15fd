"""Kafka's Raft as a state machine (pure): ``step(event, now_ms) -> effects``.

Read in this order:

    node             QuorumNode: the entry point, and the invariants of the quorum
    roles            the roles of a node, their transitions, and the state of each
    events, effects  the inputs and the outputs
    quorum           Quorum: the state that all roles share
    transitions      changes of role, and the state that is persisted before them
    elections, votes votes asked for, granted and counted; pre-vote (KIP-996)
    leading, progress
                     the leader: serves fetches, tracks replicas, moves the high watermark
    following, fetched
                     the follower: fetches, checks batches, truncates, downloads snapshots
    log_outline      the log as far as the quorum needs to know it; divergence by epoch
    voters, control_history, voter_changes
                     the voter set, its history in the log, and its changes (KIP-853)
    quorum_state     epoch and vote, as they stand in ``quorum-state``
    messages, in_flight, settings
                     requests and responses, those in flight, timeouts and limits

The words are Kafka's: a leader epoch is Raft's term; a voter counts for majorities, an observer
does not; a prospective node asks for pre-votes, a candidate for votes.

Not here: the disk, the network and the clock. The driver of ``quorum`` performs the effects and
reports their completion as events.
"""
