"""The quorum's core in scripted scenarios: several nodes, a network, and clocks.

The network does what the script says, and the script turns the clocks. The scripts are in
``scripts/``; :mod:`tests.scenarios.transcripts` says how they are compared and rewritten. The
language:

    cluster voters=1,2,3 [observers=4] [spare=4] [dynamic] [auto-join] [fetch-bytes=1]
                     start these nodes. Voters are configured (kraft.version 0) unless ``dynamic``,
                     which formats them with a voter set (kraft.version 1). Observers are brokers,
                     which can never vote; a controller that is no voter yet is ``spare``. With
                     ``auto-join`` a spare asks to become a voter by itself. A fetch gets at least
                     one batch, and with ``fetch-bytes=1`` no more than that
    timeout 2        the clock of node 2 alone runs on until its role changes: its election, fetch
                     or quorum timeout fires
    settle           deliver all messages, and those that follow from them, until none is under
                     way; no clock moves
    deliver 1->2     deliver the messages that are under way from 1 to 2 now, and none of those
                     that follow from them; several pairs may be named
    drop 1->2        lose them; the sender finds out when its request times out
    cut 1 | 2 3      from now on nothing passes between the groups; ``heal`` ends it
    wait 500         all clocks run on by so many milliseconds; messages arrive at once
    elect 1          ``timeout 1`` and ``settle``, where the election is not the subject: only its
                     result is shown. Voters that follow a leader give it up first, and their own
                     requests for votes are lost
    quietly ...      any command, without its output
    append 1 a b     the active controller on node 1 writes a batch of two records
    crash 2          the process of node 2 ends; what its disk had synced survives
    start 2          it starts again; with ``disk=lost`` in a new, empty directory
    slow 2           from now on the disk of node 2 syncs only at ``flush 2``; ``fast 2`` ends that
    move 2 b         node 2 gets the host ``n2b``, to be used from its next start
    snapshot 1       node 1 writes a snapshot of all that is committed and drops the log before it;
                     ``keep`` keeps that log, ``damaged`` spoils the snapshot
    add-voter 4      an operator asks the leader to change the voters; with ``at=2`` node 2
    remove-voter 3
    upgrade 1        the active controller on node 1 raises kraft.version to 1
    resign 1         the active controller gives up its epoch
    stop 1           the process of node 1 is shut down cleanly
    status           show all nodes
    log 1 2          show the batches of some logs
    replicas 1       show how far a leader knows its replicas to be
    pending          show the messages under way

In the output, ``1 -> 2 ...`` is a message that arrives, and ``1: ...`` is a node that changes its
role or does something to its disk. ``5@2`` is the end of a log or snapshot: the offset behind the
last record, and that record's leader epoch. A request that repeats the one before on its way is
not shown again, and neither is an empty answer to a fetch, so that long polls do not fill the
transcript. Timeouts are not random: node 1 has the shortest, and each further node's election
timeout is a tenth of a second longer.
"""
