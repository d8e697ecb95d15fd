"""Several nodes on one machine, each in a process of its own, and the supervisor that runs them:
``barnabas server --processes``.

A node has one event loop, which is one thread, so a machine with many cores runs many nodes.
Clients find the right process by themselves, because each process is a broker of the cluster.

Read in this order:

    process_count      process_count: a number, or one for each core
    process_settings   derive: the settings of each process, from those of one file (pure)
    directories        the directories of new processes, and data of processes that are not started
    node_events        NodeReady, NodeEnded: what a parent learns of a process
    child_node         ChildNode: one ``barnabas server`` process, and its events
    kept_ports         KeptPorts: ports reserved for nodes that do not listen at the moment
    restarts           the backoff of a process that crashes (pure)
    supervision        Supervision: when processes start and stop, as a state machine (pure)
    supervisor         Supervisor: performs what Supervision decides
    log_stream         lines of all processes as one stream (pure)
    merged_metrics     metrics pages of all processes as one page (pure)
    merged_probes      health and readiness of all processes as one answer (pure)
    page_reader        read_page: a page of one process
    pages              SupervisorPages: serves the merged pages

Invariants: no process outlives the supervisor. Processes stop one after the other, the controller
last. Data of a process that is not started stops the start with a sentence.

``devcluster`` uses the processes and ports of this package for clusters of development, which have
other settings and no restarts. The node itself is in ``node``: nothing here runs inside a node.
"""
