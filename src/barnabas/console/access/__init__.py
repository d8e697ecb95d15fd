"""Clusters over the wire, each as one principal.

Read :mod:`~.cluster_client` first: it asks brokers, the controller, coordinators and leaders, over
the connections that :mod:`~.connections` keeps. :mod:`~.catalog` keeps the list of topics for a
few seconds, :mod:`~.offsets` and :mod:`~.log_dirs` ask each leader or broker for its part.
:mod:`~.record_reading` fetches records, :mod:`~.record_pages` makes pages of them,
:mod:`~.schema_decoding` and :mod:`~.shown_records` decode them, and :mod:`~.producing` sends some
with librdkafka. :mod:`~.reassignments`, :mod:`~.acls`, :mod:`~.users`, :mod:`~.tokens` and
:mod:`~.quotas` ask about one thing each and change it; :mod:`~.rate_collection` reads rates beside
requests. :mod:`~.refusals` turns error codes into sentences.

Invariants: a client serves one principal and is never shared with another one; every wait has a
limit; every failure is a :class:`~barnabas.console.errors.ConsoleError`.

Not here: decisions about what an answer means (:mod:`barnabas.console.core`).
"""
