"""Client quotas: the limit of each client, its use, and how long it must wait.

Reading order:

- ``quota_table``: the quota that applies to a user and a client id, and the clients that share it.
- ``windowed_rate`` and ``token_bucket``: use, measured with Kafka's arithmetic.
- ``sensors``: one measurement for each entity, with a bound on their number.
- ``client_quotas``: all of it together, for one node; ``mutation_quota`` for one request to the
  controller.
- ``connection_rates``: how fast new connections are accepted.

Every call takes the time in milliseconds, so there is no clock here. A delay is carried out by the
connection: it sends the response and then reads nothing until the delay is over.
"""
