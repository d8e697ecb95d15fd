"""The decisions of the controller (pure): ``step(request) -> records + response``, and ``tick()``.

A decision reads the image, returns an :class:`~barnabas.controller.core.outcome.Outcome`, and
changes nothing else but the sessions of brokers. Read in this order:

    controller           Controller: the entry points, and the table from requests to decisions
    outcome              Outcome: the records and the response
    partition_change     the replicas, leader and epochs of one partition after a change
    partitions           Partitions: all changes that one decision makes to partitions
    heartbeats, brokers, membership, broker_sessions
                         brokers register, become active, are fenced, and leave
    alter_partition      a leader reports its in-sync replicas
    topics, placement    topics created, grown and deleted; the brokers of their replicas
    reassignments, elections, chores, replica_directories
                         replicas moved; leaders elected; periodic work; replicas in directories
    configs, features, producer_ids, bootstrap
                         settings, feature levels, blocks of producer ids, a new cluster's records
    scram_credentials, delegation_tokens
                         credentials of users, and tokens that users make for their processes

Invariants:

- A decision builds on everything that was written before it, committed or not.
- The records of one decision are one batch of the metadata log, and take effect together.
- Every change of an existing partition goes through ``partition_change``.
- Errors of a single topic, partition or resource are values in the response, never exceptions.

Not here: time (given as ``now_ms``), chance (given as ``Entropy``), the log, and the network. The
driver above provides them.
"""
