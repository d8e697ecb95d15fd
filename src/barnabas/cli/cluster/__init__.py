"""How commands talk to a cluster.

Read :mod:`~.client` first: the options ``--bootstrap`` and ``--config-file``, and
:class:`~.client.Cluster`, from which librdkafka clients are made. :mod:`~.admin_request` sends one
request of our own to one broker, for requests that librdkafka does not support.
:mod:`~.broker_requests` builds on it and finds the right broker: a coordinator, a leader or the
controller. :mod:`~.topic_metadata` describes topics.

Invariants: a command checks that a broker listens before it creates a client; every wait has a
limit; every failure is a ``Refused`` that names the address or the broker.

Not here: requests that only one command needs; they are in that command's package.
"""
