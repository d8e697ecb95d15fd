"""The share coordinator, which keeps the delivery state of share partitions. Pure.

Nouns: a *share partition* is one partition of a topic as one share group consumes it. Its *state*
is a start offset and *state batches*, ranges of offsets with their delivery state and count. A
*snapshot* is a record with the whole state, an *update* one with a change. The *leader epoch*
fences earlier leaders of the partition, the *state epoch* leaders that read the state before it was
initialized again.

Read in this order: :mod:`.persister` (the port, and the values that it carries),
:mod:`.state_batches` (merging), :mod:`.partition_state` (a state as its records build it up), then
:mod:`.machine`, which decides. :mod:`.records` makes the records, :mod:`.redundant_offsets` knows
which of them nothing needs any more, :mod:`.refusal` has Kafka's sentences, and
:mod:`.coordinator_keys` reads the keys of FindCoordinator. :mod:`.operations` are requests as
values, and :mod:`.requests` puts them on the wire.

Invariants:

- the batches of a state are sorted, do not overlap, and none lies below the start offset;
- of two states of one offset the one with the higher delivery count counts, so an update that
  arrives twice does no harm;
- pruning never deletes the last snapshot of a share partition, nor an update after it.

Not here: the way to the coordinator from any broker
(:mod:`barnabas.coordinators.share_persister`), the deletion of pruned records
(:mod:`barnabas.coordinators.share_pruning`), and the machine that delivers records
(:mod:`barnabas.sharing`).
"""
