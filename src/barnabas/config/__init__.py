"""Every setting of Kafka 4.3, declared once: its name, type, default, bounds, who may change it, and what it does here.

The tables are ``broker_keys``, ``topic_keys``, ``group_keys``, ``client_metrics_keys`` and ``quota_keys``; ``parse`` turns text
into typed settings and refuses, in one sentence, what cannot be honoured. ``docs/configuration.md`` is printed from the tables.

This layer is pure and low: it knows no file, socket or clock, so that any other layer may be handed typed values from it.
"""
