"""The log directories of a node. Read in this order:

    node_directories  NodeDirectories: locks, identifies and opens them, and recovers their logs
    failures          DirectoryFailures: a directory that failed, or is full
    reports           DirectoryReports: reports the directories of replicas to the controller
    moves             DirectoryMoves: moves replicas from one directory to another
    cordoned          CordonedDirectories: directories that get no new replicas

Invariants: a directory belongs to one node of one cluster, and fails as a whole. The controller
learns the new directory of a replica before the replica is there (KIP-858).

Not here: the files of one directory (``storage.log_directory``), and the choice of a directory for
a new replica (``replication.publisher``).
"""
