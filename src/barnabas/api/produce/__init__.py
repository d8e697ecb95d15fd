"""Produce: the path of a batch from a frame to the log.

Nouns: the *handler* serves a decoded request. A *shortcut* recognises a request that repeats an
earlier one of its connection, with new records only, and skips decoding and encoding. A *turn*
collects the recognised requests of one turn of the event loop and appends them together.
*Verification* asks the coordinator whether a partition belongs to the producer's transaction.
*Hints* name the current leader in a response with an error. *Schemas* of records are validated
before the append, for topics that require them.

Read in this order: :mod:`.handler`, which has the whole behaviour; :mod:`.schemas`,
:mod:`.verification` and :mod:`.hints`, which it calls; then :mod:`.shortcut` and :mod:`.batching`,
which only make it faster.

Invariants:

- a shortcut remembers the meaning of bytes, never a decision: leadership, errors and transactions
  are checked for every request;
- a request that the shortcut cannot serve goes through the handler, and nothing of it has been
  written before;
- responses of a connection leave in the order of its requests;
- batches of one producer are appended in the order of their arrival, also while one waits for its
  schemas;
- no module here opens a batch.

Not here: the validation of schemas (:mod:`barnabas.schema_validation`), of batches and of sequence
numbers (:mod:`barnabas.records`, :mod:`barnabas.storage`), the ISR and the high watermark
(:mod:`barnabas.replication`).
"""
