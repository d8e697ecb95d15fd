"""The schema registry: subjects, versions and ids of schemas, over any Kafka cluster.

Nouns: a *subject* has *versions* of a schema; a schema has an *id* within its *context*. An *entry*
is a record of the topic ``_schemas``, the registry's only memory. The *leader* is the instance that
writes; *followers* answer reads and forward writes.

Read in this order: :mod:`.core` (pure: the state and every decision), :mod:`.service` (decisions,
one after the other), :mod:`.schemas_topic` (entries in Kafka), :mod:`.election` and
:mod:`.forwarding` with :mod:`.caller_address` (several instances), then :mod:`.http`,
:mod:`.content_types`, :mod:`.routes`, :mod:`.aliases`, :mod:`.endpoints` and :mod:`.app`
(requests), and :mod:`.server` and :mod:`.process`, which put an instance together.

Invariants:

- the state is exactly what the topic says; a decision becomes entries, and entries become state;
- an answer to a write is sent after its entries are on all in-sync replicas and replayed;
- a leader that was replaced cannot write, because its successor fences it;
- after a write that fails, nothing is decided until the whole topic is replayed;
- keys, values, codes and the beginnings of sentences are Confluent's, so that its clients, and its
  registry in our place, notice no difference.

Not here: parsing and comparing schemas (:mod:`barnabas.schemas`); the brokers, which this product
only meets over the wire.
"""
