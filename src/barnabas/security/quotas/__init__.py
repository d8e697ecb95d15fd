"""Client quotas: the limit of each client, its use, and how long it must wait.

:mod:`~.windowed_rate` and :mod:`~.token_bucket` measure use with Kafka's arithmetic, and
:mod:`~.quota_table` finds the quota of a user and a client id.

Every call takes the time in milliseconds, so there is no clock here. A delay is carried out by the
connection: it sends the response and then reads nothing until the delay is over.
"""
