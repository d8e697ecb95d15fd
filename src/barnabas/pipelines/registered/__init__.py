"""Records whose schemas a registry has: columns from schemas, schemas from columns, and the values
in between.

A record is framed: it begins with the id of the schema that wrote it
(:mod:`barnabas.schemas.framing`). A source decodes each record with its writer's schema, which it
asks the registry for, and gives it the shape of the *readers' schema*, which is the same for the
whole run and decides the columns. A sink derives its schema from its columns, or has one, and
registers it before the first record.

Read in this order: :mod:`~.settings` (a declared format), :mod:`~.columns` (a parsed schema as
columns, over :mod:`~.avro_columns`, :mod:`~.json_columns`, :mod:`~.protobuf_columns` and
:mod:`~.converting`), :mod:`~.derived` (columns as a schema, over :mod:`~.derived_avro`,
:mod:`~.derived_json` and :mod:`~.derived_protobuf`) and :mod:`~.fitting` (whether columns fit a
schema). All of these are pure. Then the shells: :mod:`~.registry` (the client, and its errors as
sentences), :mod:`~.readers` and :mod:`~.writers` (the schema of a source and of a sink, in the
driver), :mod:`~.decoding` and :mod:`~.encoding` (Arrow batches, in Spark's tasks).

Invariants: a record that cannot be decoded gets a reason, and an unreachable registry never is one:
it fails the batch, which runs again. A schema is registered before the first record that carries
its id is written.

Not here: Avro without a registry (:mod:`barnabas.pipelines.formats.avro`), the codecs
(:mod:`barnabas.schemas`), the client's requests (:mod:`barnabas.registry_client`).
"""
