"""Schema validation: a topic may refuse records that carry no registered schema.

Nouns: a *stamp* is the bytes by which a record names its schema, an id or a GUID. *Knowledge* is
the registry's answer about a stamp. A *verdict* lets a batch through or refuses it. A *lane* has
the batches of one producer for one partition that wait for their verdicts.

Read in this order: :mod:`.core`, which is pure; :mod:`.lanes`, the order of waiting batches;
:mod:`.lookups`, the questions to the registry; :mod:`.validation`, which joins them;
:mod:`.registry_source`, the registry over HTTP.

Invariants:

- the loop never waits: it only checks small batches whose stamps are known, everything else runs on
  threads;
- verdicts about the batches of one lane are given in the order of their arrival;
- a wait ends after ``barnabas.schema.validation.timeout.ms``, whatever the registry does;
- waiting batches, remembered stamps and open questions have limits;
- no verdict about a damaged batch: the append refuses it with CORRUPT_MESSAGE.

Not here: the settings (:mod:`barnabas.config.schema_validation`), the rules of a topic
(:mod:`barnabas.records.schema_rules`), schemas and codecs (:mod:`barnabas.schemas`), the hook in
Produce (:mod:`barnabas.api.produce.schemas`). Only batches of clients are validated: replication,
transaction markers, coordinators and remote storage do not pass through here.
"""
