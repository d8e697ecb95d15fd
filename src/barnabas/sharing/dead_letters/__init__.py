"""Dead letters of share groups (KIP-1191): records that are rejected, or delivered too often, go to
a topic before they are archived.

:mod:`.letter` makes the records, :mod:`.destination` finds the topic and says why it cannot be
used, :mod:`.dead_letter_writer` writes them through the leader of a partition, here or on another
broker.

Invariants:

- a record is archived only after its letter is on all in-sync replicas. A leader that dies in
  between leaves the record to the next one, which writes the letter again: at least once, never not
  at all;
- a topic that cannot be written to holds records back, and loses none. A rejection is refused, so
  that its member can try again; a record at the delivery limit waits, and is not delivered
  meanwhile.

Not here: the decision which records become letters (:mod:`barnabas.sharing.core.acknowledging`),
and sending letters to their topics again (:mod:`barnabas.pipelines.redrive`).
"""
