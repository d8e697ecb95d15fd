"""The settings of Kafka 4.3, each declared once: name, type, default, bounds, scope and effect.

Reading order:

- ``values``, ``validators``, ``keys``: the types of Kafka's ConfigDef, the bounds of a value, and
  :class:`ConfigKey`, which is one declared setting.
- ``broker_keys/``, ``topic_keys``, ``group_keys``, ``client_metrics_keys``, ``quota_keys``: the
  tables of declarations. ``declare`` gathers the names that tables are written with, ``effects``
  the reasons why settings of a whole subject have no effect yet.
- ``kafka_words``: what Kafka says about a value that it refuses; responses begin with it.
- ``properties``, ``environment``: the two sources of raw text.
- ``parse``: raw text to typed :class:`~barnabas.config.settings.BrokerSettings`; ``consistency``
  and ``tiered_topics`` check settings against each other.
- ``listeners``, ``addresses``, ``cipher_suites``, ``durations``, ``remote_metadata_topic``: values
  with a structure of their own.
- ``docs``: prints ``docs/configuration.md`` from the tables.

Invariants: every key has one sentence, a default of its own type and an effect. A setting that
Barnabas cannot honour is refused with one sentence, never ignored. Text forms are Java's, byte for
byte, because clients compare them.

Not here: files, sockets and clocks. This layer is pure and low, so that every other layer can take
typed values from it. Which setting changes at run time is decided by the layer that uses it.
"""
