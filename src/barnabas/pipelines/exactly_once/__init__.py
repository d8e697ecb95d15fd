"""Exactly once into topics, which Spark's own Kafka sink does not give.

Spark runs a micro-batch again when it cannot know that it ended: a task that failed, a driver that died before it noted the batch as done.
It promises that a batch that runs again reads the same offsets. So it is enough that whoever writes part of a batch knows whether that
part was written before, and that "written" and "noted as written" are one deed. Kafka's transactions are that deed:

    writer n, batch b:   one transaction = { all of the writer's rows, marker n := b + 1 }

A *writer* is a number that stands for the same rows whenever the batch is run (:mod:`spread`), for a transactional id, and for a
partition of the marker topic. Its *marker* is an offset committed for that partition by a group named after the query (:mod:`markers`).

    marker          what the task does (:mod:`writing`)
    =============   ======================================================================================================
    none, or <= b   writes
    b + 1           nothing: another attempt has written these rows. That it was the same batch is checked by its fingerprint
    > b + 1         refuses: the checkpoint is older than what was written

Why two attempts at once do no harm: only the one whose producer was initialised last can commit. It read the marker after its
initialisation, which ended the transactions of all earlier ones, so nothing can be written between that reading and its own commit but
by a producer that is newer still, and then its own commit fails. This holds for a producer that is kept from batch to batch as well,
because one that was overtaken can commit nothing, whatever it read.
"""
