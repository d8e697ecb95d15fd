"""Requests of our own to one broker, for the few that librdkafka does not support.

Read :mod:`~.broker_connection` first: it connects, logs in and asks. :mod:`~.secure_connection` and
:mod:`~.client_tls` make TLS, and :mod:`~.logins` the logins, by the properties that librdkafka
takes, so that one file of properties serves both.

Invariants: every wait has a limit; every failure is a :class:`~.errors.RequestRefused` that names
the address. There are no retries here, no metadata and no records.

Not here: finding the right broker (:mod:`barnabas.cli.cluster`, :mod:`barnabas.registry`), and
connections between nodes (:mod:`barnabas.network`).
"""
