"""Exactly once into topics, which Spark's own Kafka sink does not offer.

Spark runs a micro-batch again when it cannot know that it ended: after a task failed, or a driver
died before it recorded the batch as done. It guarantees that a batch that runs again reads the same
offsets. So it is enough that the writer of a part of a batch knows whether that part was written
before, and that "written" and "recorded as written" are one atomic action. Kafka's transactions are
that action:

    writer n, batch b:   one transaction = { all of the writer's rows, marker n := b + 1 }

A *writer* is a number that stands for the same rows whenever the batch is run (:mod:`spread`), for
a transactional id, and for a partition of the marker topic. Its *marker* is an offset committed for
that partition by a group named after the query (:mod:`markers`).

marker          action of the task (:mod:`writing`)
=============   ====================================================================================
none, or <= b   writes
b + 1           nothing: another attempt has written these rows. A fingerprint checks that it was
                the same batch
> b + 1         refuses: the checkpoint is older than the written data

Why two attempts at once do no harm: only the producer that was initialised last can commit. It read
the marker after its initialisation, which ended the transactions of all earlier producers. So
between that read and its own commit only a still newer producer can write, and then its own commit
fails. This also holds for a producer that is kept from batch to batch, because one that was fenced
cannot commit anything.

Read :mod:`~.spread`, :mod:`~.markers`, :mod:`~.writing` (the protocol, without Spark),
:mod:`~.records` (rows to producer calls), then :mod:`~.sink` (the query).

Not here: the encoding of rows, which :mod:`barnabas.pipelines.sinks.topic` does.
"""
