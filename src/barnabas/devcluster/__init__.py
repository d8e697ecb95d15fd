"""Clusters for development and tests: several nodes on one machine, each in a process of its own.

Read in this order:

    development          the settings of a node: for one alone, and for one among several
    one_node             settings that users of Kafka give to a single node
    development_cluster  DevelopmentCluster: chooses ports, formats directories, starts and stops
    certificates         CertificateAuthority: signs the certificates of nodes and clients
    private_files        files with secrets, which only their owner can read
    secure               SecureFiles: certificates, passwords and settings of a secured cluster
    admin_user           the user of a secured cluster, added after its first start
    ephemeral            a cluster that ends with its parent and leaves nothing behind

Invariants: a child takes its settings from its properties file alone, and ends with its parent.
The voters of a cluster never change after its first start.

``barnabas up`` (``cli``) and ``testing`` use this package. The processes of nodes and the ports
kept for them are in ``supervisor``, the node itself is in ``node``: nothing here runs inside a
node.
"""
