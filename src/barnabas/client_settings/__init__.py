"""Settings of Kafka clients: one file for Java's clients, for librdkafka and for our own requests.

A file may use Java's names (``sasl.jaas.config``, ``ssl.truststore.location``) or librdkafka's
(``sasl.username``, ``ssl.ca.location``). Read in this order:

======================  ====================================================================
:mod:`~.client_file`    reads a file
:mod:`~.java_names`     Java's names as librdkafka's, for clients in this process
:mod:`~.librdkafka_names`  librdkafka's names as Java's, for Spark's connector
:mod:`~.bearer_token`   a token for OAUTHBEARER, from a setting or a file
:mod:`~.delegation_token`  a login with a delegation token
:mod:`~.secrets`        which settings are secrets
======================  ====================================================================

Invariants: a sentence for the user never repeats the value of a secret; a setting that decides how
a client logs in is translated or refused, and never left out silently.

Not here: the settings of brokers, which are in :mod:`barnabas.config`.
"""
