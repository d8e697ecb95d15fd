"""Faults for tests of an application: errors, delays, lost connections and cut networks, as the
client of a broker sees them.

Read in this order:

    fault_rule       FaultRule: which requests are affected, and how; a value that can be sent
    error_responses  the response that refuses a request, for each API
    node_faults      NodeFaults: the rules of one node, applied to its requests
    cuttable         the node's listeners and peers, which NodeFaults can cut off
    fault            Fault: what a test holds, to count uses and to undo
    names            API names and error names as users write them

The node has no code for faults. Its two ports to the network, ``listen`` and ``dial``, are replaced
by those of :mod:`cuttable`, and :class:`NodeFaults` puts itself in front of the function that
serves a connection's requests. Without a rule that function is the node's own, so requests take no
extra step.

Invariants: requests of other nodes and of the test's own helpers are never affected by a rule; a
fault ends when it is undone, when its count is used up, and with the cluster.
"""
