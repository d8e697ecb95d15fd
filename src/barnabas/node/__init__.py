"""A node: the packages below it, assembled, started and stopped.

Nouns: a *node* is one process with the role of a broker, of a controller, or both. The *broker
role* is the set of parts that serve partitions. *Events* are the calls from a lower package to a
higher one, each collected in one class. A *format* gives a directory its identity before the first
start.

Read in this order:

    node            Node: the order of starting and stopping
    broker          BrokerRole: the parts of the broker role, and their wiring
    quorum_events   calls from the quorum: committed batches go to the applier and the controller
    replica_events  calls from the replicas: to log care, directory reports, moves and fetchers
    addresses       OwnAddresses: listeners, and the addresses in registrations
    connection_limits, connection_limits_publisher
                    limits of listeners, from the settings in force
    metrics         metrics that are read when Prometheus scrapes
    group_lag       GroupLag: how far groups are behind, measured now and then
    pages           NodePages: the HTTP pages of metrics, health and readiness
    readiness       Readiness: the reasons why a node is not ready
    format, initial_voters
                    ``storage format``: identities, bootstrap records and the first voters
    process         a node as a process: signals, event loop, exit code
    service_notification
                    tells systemd that the node is ready, or that it stops

Invariants:

- A part gets the parts below it as arguments. The quorum and the replicas call upwards only
  through the classes of events, so a reader sees each such call in one list.
- A node that cannot start raises ``CannotStart`` with one sentence for the user, and releases its
  ports and directories.
- The mark of a clean shutdown is the last write of a stop. After a fatal error the node writes
  nothing more, so that the next start recovers.

Not here: decisions. Requests are served in ``api``, and every other part lives in the package of
its noun: ``quorum``, ``controller``, ``metadata``, ``replication``, ``coordinators``, ``logcare``.
Nodes for development are in ``devcluster``.
"""
