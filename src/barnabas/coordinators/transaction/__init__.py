"""The transaction coordinator: transactional ids, their producers and their transactions. Pure.

Nouns: a *transactional id* belongs to one producer id and epoch, its *identity*. A *transaction* is
the set of partitions that joined since the last end. *Fencing* raises the epoch, so that earlier
producers get errors. A *marker* is the end of a transaction in one partition. The *transaction
version* is the level of the protocol (KIP-890).

Read in this order: :mod:`.state` and :mod:`.transaction` (states and steps),
:mod:`.transaction_version`, :mod:`.beginning` (InitProducerId), :mod:`.ending` (EndTxn), then
:mod:`.machine`, which joins them and has the timers. :mod:`.log_record` converts a transaction to
its record and back, :mod:`.fresh_producer_id` gets new producer ids, and :mod:`.effects` names the
markers to write.

Invariants:

- epochs of one producer id only rise, and one epoch above all clients' stays free for fencing;
- an end is decided by one record; after it only the same end can be written;
- the next transaction of an id begins only after all markers of the previous one are written.

Not here: writing the markers (:mod:`barnabas.coordinators.marker_writer`), and asking whether a
partition joined a transaction (:mod:`barnabas.api.produce.verification`).
"""
