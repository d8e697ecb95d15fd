"""The replicas of one partition, and the controller that looks after them, in scripted scenarios.

Brokers hold the partition's real log on simulated disks; the controller is its real core. The
network and the clock do what the script says. The scripts are in ``scripts/``;
:mod:`tests.scenarios.transcripts` says how they are compared and rewritten. The language:

    cluster brokers=1,2,3 [elr=off] [imbalance-check=300]
                     register these brokers with a controller. Eligible leader replicas (KIP-966)
                     are on unless switched off; ``imbalance-check`` is
                     leader.imbalance.check.interval.seconds
    create replicas=1,2,3 [min-isr=2] [unclean] [fetch-bytes=1]
                     create the topic, of one partition. ``unclean`` sets
                     unclean.leader.election.enable; with ``fetch-bytes=1`` a fetch gets one batch
    produce 1 a b    send a batch of two records to broker 1, with acks=all or the given ``acks``
    consume 1        a consumer fetches from broker 1, from offset 0 or the given ``from``
    fetch 2          broker 2 sends the next request that it has for its leader, and gets the answer
    replicate        all followers fetch until nothing changes any more
    wait 500         the clock runs on. Brokers send heartbeats and fetch, leaders look for
                     followers that lag, and the controller fences silent brokers
    quietly ...      any command, without its output
    stall 3          broker 3 lives and sends heartbeats, but does not fetch
    silence 3        broker 3 fetches and serves, but its heartbeats do not arrive
    resume 3         broker 3 does both again
    delay 1          new metadata does not reach broker 1 until ``inform 1``
    controller slow  the controller leaves requests of leaders unanswered until
                     ``controller answers``
    kill 3           the process of broker 3 ends without notice
    start 3          it starts again; with ``end=2`` after a power cut, which took what lay in its
                     log at and above offset 2
    stop 3           controlled shutdown, after which ``start 3`` is a clean start
    elect preferred  an operator asks for an election, preferred or ``unclean``
    reassign 2,3,4   an operator moves the partition's replicas; ``reassign cancel`` takes it back
    delete-records 1 before=2
                     an operator deletes records at the leader
    status           show the partition and all replicas
    log 1 2          show the batches of some logs
    epochs 1 2       show the leader epochs that they know, with start offsets

In the output, ``2 -> 1 ...`` is a message that arrives, ``1: ...`` is a broker whose role, log or
high watermark changes, and ``partition: ...`` is the partition's new state when the controller has
changed it. ``a b @3`` is a batch of leader epoch 3. A request that repeats the one before is not
shown again, and neither is an empty answer to a fetch.
"""
